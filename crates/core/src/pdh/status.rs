//! PDH status codes of functions and values.

use std::fmt;

use crate::status::{Status, codes};
use crate::value::NoValue;

/// PDH status code: the result of a function (`PDH_STATUS`), or the quality of a value (`CStatus`).
///
/// The constants keep their exact C spelling. Source: MS Learn, "Performance Data Helper Error Codes" and "Checking
/// Counter Data Status Codes".
///
/// ```
/// use perfset::{NoValue, path::PdhStatus};
/// let status = PdhStatus::from(&NoValue::NegativeDenominator);
/// assert_eq!(status, PdhStatus::PDH_CALC_NEGATIVE_DENOMINATOR);
/// assert!(!status.has_value() && PdhStatus::PDH_CSTATUS_NEW_DATA.has_value());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "PDH_STATUS")]
#[doc(alias = "CStatus")]
pub struct PdhStatus(pub u32);

codes! { PdhStatus:
    PDH_CSTATUS_VALID_DATA = 0, "there is a value, which has not changed since it was last read";
    PDH_CSTATUS_NEW_DATA = 1, "there is a value, which has not been read yet";
    PDH_CSTATUS_NO_MACHINE = 0x8000_07D0, "the machine cannot be reached";
    PDH_CSTATUS_NO_INSTANCE = 0x8000_07D1, "there is no such instance now";
    PDH_CSTATUS_ITEM_NOT_VALIDATED = 0x8000_07D3, "the counter has not been collected yet";
    PDH_NO_DATA = 0x8000_07D5, "there are no data";
    PDH_CALC_NEGATIVE_DENOMINATOR = 0x8000_07D6, "what the value is divided by went back or stood still";
    PDH_CALC_NEGATIVE_TIMEBASE = 0x8000_07D7, "the clock's frequency is not positive";
    PDH_CALC_NEGATIVE_VALUE = 0x8000_07D8, "the raw value fell";
    PDH_CSTATUS_NO_OBJECT = 0xC000_0BB8, "there is no such counterset";
    PDH_CSTATUS_NO_COUNTER = 0xC000_0BB9, "the counterset has no such counter";
    PDH_CSTATUS_INVALID_DATA = 0xC000_0BBA, "the counter was found and has no value";
    PDH_INVALID_HANDLE = 0xC000_0BBC, "there is no such counter in the query";
    PDH_INVALID_ARGUMENT = 0xC000_0BBD, "an argument is wrong";
    PDH_CSTATUS_NO_COUNTERNAME = 0xC000_0BBF, "the path is empty";
    PDH_CSTATUS_BAD_COUNTERNAME = 0xC000_0BC0, "the text is not a counter path";
    PDH_INVALID_PATH = 0xC000_0BC4, "the path does not fit the counterset";
    PDH_INVALID_INSTANCE = 0xC000_0BC5, "the text is not an instance name";
    PDH_INVALID_DATA = 0xC000_0BC6, "the counter has no value: its own status says why";
    PDH_NO_MORE_DATA = 0xC000_0BCC, "the log is at its end";
}

impl PdhStatus {
    /// Returns `true` if a value with this status is valid.
    #[must_use]
    pub const fn has_value(self) -> bool {
        matches!(self, Self::PDH_CSTATUS_VALID_DATA | Self::PDH_CSTATUS_NEW_DATA)
    }
}

/// Converts the reason for a missing value to the `CStatus` of that value.
impl From<&NoValue> for PdhStatus {
    fn from(reason: &NoValue) -> Self {
        match reason {
            // PDH has no codes for the causes that two samples reveal, only for the value and the clock. It
            // tests the value first.
            NoValue::NegativeValue { .. }
            | NoValue::Wrapped { .. }
            | NoValue::BeginsLater
            | NoValue::Restarted { value_fell: true }
            | NoValue::TimeWentBack { value_fell: true } => Self::PDH_CALC_NEGATIVE_VALUE,
            NoValue::NegativeDenominator
            | NoValue::Restarted { value_fell: false }
            | NoValue::TimeWentBack { value_fell: false } => Self::PDH_CALC_NEGATIVE_DENOMINATOR,
            NoValue::NegativeTimebase => Self::PDH_CALC_NEGATIVE_TIMEBASE,
            NoValue::NoInstance => Self::PDH_CSTATUS_NO_INSTANCE,
            NoValue::Status(status) => Self::from(*status),
            NoValue::NeedsTwoSamples
            | NoValue::NotDisplayable
            | NoValue::MissingBase
            | NoValue::TypeChanged { .. }
            | NoValue::NewInstance
            | NoValue::Replaced
            | NoValue::Unavailable(_)
            | NoValue::Denied(_)
            | NoValue::Failed(_)
            | NoValue::Late
            | NoValue::NotGiven => Self::PDH_CSTATUS_INVALID_DATA,
        }
    }
}

/// Converts a PerfLib error to the PDH code for the same failure.
impl From<Status> for PdhStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::ERROR_SUCCESS => Self::PDH_CSTATUS_VALID_DATA,
            Status::ERROR_WMI_GUID_NOT_FOUND => Self::PDH_CSTATUS_NO_OBJECT,
            Status::ERROR_WMI_ITEMID_NOT_FOUND => Self::PDH_CSTATUS_NO_COUNTER,
            // PerfLib has three codes for a missing instance: of a listing, of a collection, and of remote
            // machines.
            Status::ERROR_WMI_INSTANCE_NOT_FOUND | Status::ERROR_NO_DATA | Status::ERROR_PATH_NOT_FOUND => {
                Self::PDH_CSTATUS_NO_INSTANCE
            }
            Status::RPC_S_SERVER_UNAVAILABLE => Self::PDH_CSTATUS_NO_MACHINE,
            Status::ERROR_INVALID_PARAMETER => Self::PDH_INVALID_ARGUMENT,
            _ => Self::PDH_CSTATUS_INVALID_DATA,
        }
    }
}

impl fmt::Display for PdhStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({:#010X})", self.0),
            None => write!(f, "PDH code {:#010X}", self.0),
        }
    }
}

impl fmt::Debug for PdhStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PdhStatus {}
