//! Errors of machines, providers and logs.

use std::sync::Arc;

use perfset_core::{CounterId, Guid, Language, NoValue, Status, Text};

/// Failure of a source to deliver what was requested. [`status`](Self::status) returns the Windows code for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No counterset of the source has that GUID.
    #[error("no counterset has the GUID {0}")]
    UnknownCounterset(Guid),
    /// The counterset has no counter with that id.
    #[error("counterset {counterset} has no counter {}", counter.0)]
    UnknownCounter {
        /// GUID of the counterset that lacks the counter.
        counterset: Guid,
        /// Id of the missing counter.
        counter: CounterId,
    },
    /// The counterset has no help text.
    #[error("counterset {0} has no help text")]
    NoHelp(Guid),
    /// The counterset has names and help texts neither in this language nor in a language with the same primary
    /// language.
    #[error("language {:#06x} is not installed", .0.0)]
    LanguageNotFound(Language),
    /// The counterset is known and has no active instance.
    #[error("counterset {0} has no active instance")]
    NoInstances(Guid),
    /// Live data contradict the registration of the counterset.
    #[error("counterset {0} has several instances, but its registration allows only one")]
    InvalidRegistration(Guid),
    /// The request is for another machine, which this source does not serve.
    #[error("\"{0}\" is another machine: remote machines are not supported")]
    Remote(String),
    /// The provider did not respond before the deadline.
    #[error("the provider did not respond in time")]
    Late,
    /// Access to the source is denied; the text names the source and a way to open it.
    #[error("{0}")]
    Denied(Arc<str>),
    /// The source could not be read or parsed; the text names the source, the position and the reason.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The source has no values; the reason is the same for all of them.
    #[error("{0}")]
    NoValue(NoValue),
    /// The publisher of the counterset refused the request, with this code.
    #[error("the publisher refused the request: {0}")]
    Refused(Status),
    /// A function of the operating system failed.
    #[error("{function}: {status}")]
    System {
        /// Name of the system function, and of its object if the function is used for several objects.
        function: Text,
        /// Code that the system function returned.
        status: Status,
    },
    /// The block would be larger than its size fields can express.
    #[error("the block would be larger than its format allows: request fewer counters or instances")]
    TooLarge,
}

impl From<NoValue> for SourceError {
    /// Converts the reason that a whole source has no values to an error.
    fn from(reason: NoValue) -> Self {
        match reason {
            NoValue::Denied(why) => Self::Denied(why.into()),
            NoValue::Failed(why) => Self::Failed(why),
            NoValue::Late => Self::Late,
            other => Self::NoValue(other),
        }
    }
}

impl SourceError {
    /// Returns the Windows code of the error.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::UnknownCounterset(_) => Status::ERROR_WMI_GUID_NOT_FOUND,
            Self::UnknownCounter { .. } => Status::ERROR_WMI_ITEMID_NOT_FOUND,
            Self::NoHelp(_) => Status::ERROR_NOT_FOUND,
            Self::LanguageNotFound(_) => Status::ERROR_RESOURCE_LANG_NOT_FOUND,
            Self::NoInstances(_) => Status::ERROR_WMI_INSTANCE_NOT_FOUND,
            Self::InvalidRegistration(_) => Status::ERROR_WMI_INVALID_REGINFO,
            Self::Remote(_) => Status::RPC_S_SERVER_UNAVAILABLE,
            Self::Late => Status::ERROR_TIMEOUT,
            Self::Denied(_) => Status::ERROR_ACCESS_DENIED,
            Self::Failed(_) => Status::ERROR_INVALID_DATA,
            Self::NoValue(NoValue::Unavailable(_)) => Status::ERROR_NO_DATA,
            Self::NoValue(NoValue::NoInstance) => Status::ERROR_WMI_INSTANCE_NOT_FOUND,
            Self::NoValue(NoValue::Status(status)) => *status,
            Self::NoValue(_) => Status::ERROR_INVALID_DATA,
            Self::Refused(status) | Self::System { status, .. } => *status,
            Self::TooLarge => Status::ERROR_OUTOFMEMORY,
        }
    }

    /// Converts the error of a source to a reason for a missing value.
    #[must_use]
    pub fn reason(&self) -> NoValue {
        match self {
            Self::Late => NoValue::Late,
            Self::Denied(why) => NoValue::Denied(why.to_string().into()),
            Self::Failed(why) => NoValue::Failed(Arc::clone(why)),
            Self::NoValue(reason) => reason.clone(),
            Self::System { .. } => NoValue::Failed(self.to_string().into()),
            other => NoValue::Status(other.status()),
        }
    }
}
