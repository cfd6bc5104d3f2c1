//! Names of values in outputs: paths, counters and instances.

use perfset_engine::path::PathValue;

use crate::text::escaped;

/// Spelling of instances in paths of log files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathNames {
    /// Spelling for names of a machine, in which characters that PDH's grammar needs are replaced.
    #[default]
    Pdh,
    /// Unchanged spelling, for names that already have PDH's form, such as those of a log.
    Own,
}

impl PathNames {
    /// Returns the counter path of a value on a machine.
    #[must_use]
    pub fn path(self, v: &PathValue<'_>, machine: &str) -> String {
        match self {
            Self::Own => v.own_path(Some(machine)).to_string(),
            Self::Pdh => v.pdh_path(Some(machine)).to_string(),
        }
    }
}

/// Returns the escaped name of a value's counter.
#[must_use]
pub fn counter_name(v: &PathValue<'_>) -> String {
    escaped(&v.value.counter.shown_name())
}

/// Returns the escaped name of an instance, with its number if it is not the first one of that name.
#[must_use]
pub fn instance_name(v: &PathValue<'_>) -> String {
    let name = escaped(&v.value.instance.to_string());
    if v.occurrence == 0 { name } else { format!("{name}#{}", v.occurrence) }
}
