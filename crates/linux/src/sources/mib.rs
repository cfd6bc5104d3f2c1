//! What `/proc/net/snmp` and `/proc/net/snmp6` share: many numbers, each with the kernel's name for it.

/// Makes a struct of numbers. Each has a name here, the kernel's name, what ends that in the file, and what it counts.
///
/// The names are in the kernel's order: what reads them leaves behind those that were found.
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
            /// Begins anew, and has the numbers read.
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
