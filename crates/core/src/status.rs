//! Win32 status codes that PerfLib returns.

use std::fmt;

/// Win32 status code of a function, of a query entry or of a result. 0 is success.
///
/// The constants keep their exact C spelling. Source: MS Learn, "System Error Codes".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(pub u32);

/// Defines the constants of a type of status codes, with their names and meanings.
macro_rules! codes {
    ($codes:ident: $($name:ident = $value:literal, $what:literal;)*) => {
        impl $codes {
            $(
                #[doc = concat!($what, ".")]
                pub const $name: Self = Self($value);
            )*

            /// Returns the name of this status code in C.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// Returns the meaning of the status code in words.
            #[must_use]
            pub const fn meaning(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($what),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use codes;

codes! { Status:
    ERROR_SUCCESS = 0, "done";
    ERROR_PATH_NOT_FOUND = 3, "no active instance has that name (remote machines only)";
    ERROR_ACCESS_DENIED = 5, "access denied";
    ERROR_INVALID_HANDLE = 6, "the handle is not a query handle";
    ERROR_NOT_ENOUGH_MEMORY = 8, "the buffer is too small";
    ERROR_INVALID_DATA = 13, "the data are invalid";
    ERROR_OUTOFMEMORY = 14, "an allocation failed";
    ERROR_INVALID_PARAMETER = 87, "invalid parameter";
    ERROR_CALL_NOT_IMPLEMENTED = 120, "this system does not have the function";
    ERROR_ALREADY_EXISTS = 183, "the object already exists";
    ERROR_NO_DATA = 232, "no active instance matches, or there is no value";
    ERROR_MORE_DATA = 234, "more data are available";
    ERROR_NOT_FOUND = 1168, "not found";
    ERROR_NO_SYSTEM_RESOURCES = 1450, "no more handles";
    ERROR_TIMEOUT = 1460, "the provider did not respond in time";
    RPC_S_SERVER_UNAVAILABLE = 1722, "the machine cannot be reached";
    ERROR_RESOURCE_LANG_NOT_FOUND = 1815, "the language is not installed";
    ERROR_WMI_GUID_NOT_FOUND = 4200, "no such counterset";
    ERROR_WMI_INSTANCE_NOT_FOUND = 4201, "the counterset has no active instance";
    ERROR_WMI_ITEMID_NOT_FOUND = 4202, "the counterset has no such counter";
    ERROR_WMI_INVALID_REGINFO = 4211, "live data contradict the registration";
}

impl Status {
    /// Returns `true` if the status code is ERROR_SUCCESS.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "Win32 code {}", self.0),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn codes_say_their_names() {
        assert_eq!(Status::ERROR_NO_DATA.to_string(), "ERROR_NO_DATA (232)");
        assert_eq!(Status(0x1068), Status::ERROR_WMI_GUID_NOT_FOUND);
        assert_eq!(Status(0x6BA).name(), Some("RPC_S_SERVER_UNAVAILABLE"));
        assert_eq!(Status(77).to_string(), "Win32 code 77");
        assert!(Status::ERROR_SUCCESS.is_success() && !Status::ERROR_NO_DATA.is_success());
    }
}
