//! Why a machine, a provider or a log did not answer.

use std::sync::Arc;

use perfset_core::{CounterId, Guid, Language, NoValue, Status, Text};

/// A source did not answer, or not with what was asked. [`status`](Self::status) is Windows' code for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No counterset has that GUID.
    #[error("no counterset has the GUID {0}")]
    UnknownCounterset(Guid),
    /// The counterset does not have that counter.
    #[error("counterset {counterset} has no counter {}", counter.0)]
    UnknownCounter {
        /// The counterset.
        counterset: Guid,
        /// The counter.
        counter: CounterId,
    },
    /// There is no help text.
    #[error("counterset {0} has no help text")]
    NoHelp(Guid),
    /// The texts are not there in that language, and nothing close to it.
    #[error("language {:#06x} is not installed", .0.0)]
    LanguageNotFound(Language),
    /// The counterset is known and has no active instance.
    #[error("counterset {0} has no active instance")]
    NoInstances(Guid),
    /// Live data contradict the registration.
    #[error("counterset {0} has several instances, its registration allows one")]
    InvalidRegistration(Guid),
    /// Another machine was asked.
    #[error("\"{0}\" is another machine, and remote machines are not built in")]
    Remote(String),
    /// The provider did not answer in time.
    #[error("the provider did not answer in time")]
    Late,
    /// The source is refused; the text says which, and what would open it.
    #[error("{0}")]
    Denied(Arc<str>),
    /// The source could not be read or understood; the text says which, where and why.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The program behind a counterset refused, with this code.
    #[error("the program that publishes it answered {0}")]
    Refused(Status),
    /// A function of the system failed.
    #[error("{function}: {status}")]
    System {
        /// Which, and of what, if it was asked for more than one thing.
        function: Text,
        /// Its code.
        status: Status,
    },
    /// A block would be larger than its size fields can say.
    #[error("the block would be larger than 4 GiB")]
    TooLarge,
}

impl SourceError {
    /// Windows' code.
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
            Self::Refused(status) | Self::System { status, .. } => *status,
            Self::TooLarge => Status::ERROR_OUTOFMEMORY,
        }
    }

    /// The same as a reason for having no value.
    #[must_use]
    pub fn reason(&self) -> NoValue {
        match self {
            Self::Late => NoValue::Late,
            Self::Denied(why) => NoValue::Denied(why.to_string().into()),
            Self::Failed(why) => NoValue::Failed(Arc::clone(why)),
            Self::System { .. } => NoValue::Failed(self.to_string().into()),
            other => NoValue::Status(other.status()),
        }
    }
}
