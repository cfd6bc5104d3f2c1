//! Macro that defines the structs of `/proc/net/snmp` and `/proc/net/snmp6`: many numbers, each with the kernel's
//! name.

/// Defines a struct for the numbers of a network protocol. Each entry has a field name, the kernel's name, and a
/// description. `ended by` is the text that ends the kernel's name in the file.
///
/// Entries must be in the kernel's order: the parser drops the first names from its list as they are found.
macro_rules! mib {
    (
        $(#[$doc:meta])*
        $name:ident, ended by $end:literal {
            $($field:ident = $key:literal $what:literal)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!("`", $key, "`: ", $what)] pub $field: $crate::sources::named::Number,)*
        }

        impl $name {
            /// Clears all numbers of the protocol, and calls `read` to set them.
            fn read_by(
                &mut self,
                read: impl FnOnce(
                    &mut [$crate::sources::named::Wanted<'_>],
                ) -> Result<(), $crate::sources::text::TextError>,
            ) -> Result<(), $crate::sources::text::TextError> {
                *self = Self::default();
                read(&mut [$((concat!($key, $end), &mut self.$field)),*])
            }
        }
    };
}

pub(crate) use mib;
