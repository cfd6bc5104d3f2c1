//! Summary of the findings about a machine's state, the same for every screen and page.

use super::findings::RULES;
use super::state::MachineState;

/// Summary of the findings about a machine's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingsSummary {
    /// At least one rule found a remarkable fact.
    Found,
    /// There is no finding yet, because rates need a second sample.
    Measuring,
    /// There is no finding, and all rules were checked.
    Nothing,
    /// There is no finding, and some rules were not checked.
    NothingInPart,
    /// There is no finding, and no rule was checked.
    Unknown,
}

impl FindingsSummary {
    /// Returns the summary of the findings as a keyword for programs: `found`, `measuring`, `nothing`,
    /// `nothing_in_part` or `unknown`.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Measuring => "measuring",
            Self::Nothing => "nothing",
            Self::NothingInPart => "nothing_in_part",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the summary of the findings in words for users, without a full stop.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Found => "remarkable",
            Self::Measuring => "measuring the first interval",
            Self::Nothing => "nothing remarkable",
            Self::NothingInPart => "nothing remarkable in what is known",
            Self::Unknown => "unknown",
        }
    }
}

impl MachineState {
    /// Returns the summary of the findings about this state.
    #[must_use]
    pub fn summary(&self) -> FindingsSummary {
        match self.unchecked.len() {
            _ if !self.findings.is_empty() => FindingsSummary::Found,
            // Without rates, most rules lack a value, and soon they will not.
            _ if self.interval.is_none() => FindingsSummary::Measuring,
            0 => FindingsSummary::Nothing,
            unchecked if unchecked < RULES.len() => FindingsSummary::NothingInPart,
            _ => FindingsSummary::Unknown,
        }
    }
}
