//! Parser for the output of libFuzzer at the end of a run.

use std::fmt;

/// Figures of a fuzz run without a finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// Number of inputs that the fuzz run tried.
    pub executions: u64,
    per_second: u64,
    peak_mb: u64,
}

impl Report {
    /// Parses the figures that a fuzz run printed with `-print_final_stats=1`.
    pub fn from_log(log: &str) -> Option<Self> {
        let number = |name: &str| log.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            executions: number("stat::number_of_executed_units:")?,
            per_second: number("stat::average_exec_per_sec:")?,
            peak_mb: number("stat::peak_rss_mb:")?,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9} executions, {:>6} a second, {} MB", self.executions, self.per_second, self.peak_mb)
    }
}

/// Returns the cause of a failed fuzz run, and the path of the input that caused it.
pub fn failure(log: &str) -> String {
    let after = |mark: &str| log.lines().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    let panic =
        log.lines().skip_while(|line| !line.contains("panicked at")).take(2).collect::<Vec<_>>().join(" ");
    let cause = match panic.is_empty() {
        false => &panic,
        true => after("ERROR: ").unwrap_or("it failed without a word"),
    };
    match after("Test unit written to ") {
        Some(input) => format!("finding: {cause}\n  input: {input}"),
        None => cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics() {
        let log = "#2\tINITED cov: 7\nDone 84673 runs in 9 second(s)\nstat::number_of_executed_units: 84673\n\
                   stat::average_exec_per_sec:     9408\nstat::new_units_added:          821\n\
                   stat::slowest_unit_time_sec:    0\nstat::peak_rss_mb:              340\n";
        let want = Report { executions: 84_673, per_second: 9_408, peak_mb: 340 };
        assert_eq!(Report::from_log(log), Some(want));
        assert_eq!(Report::from_log("Done 84673 runs in 9 second(s)\n"), None);
    }

    #[test]
    fn failures_name_cause_and_input() {
        let panic = "#7\nthread '<unnamed>' (3) panicked at src/blocks.rs:5:9:\nno such thing\nnote: run with\n\
                     ==3== ERROR: libFuzzer: deadly signal\nartifact_prefix='t/'; Test unit written to t/crash-2f\n";
        let slow = "ALARM: working on the last Unit for 11 seconds\nTest unit written to t/timeout-3e\n\
                    ==5== ERROR: libFuzzer: timeout after 11 seconds\n";
        for (log, cause, input) in [
            (panic, "blocks.rs:5:9: no such thing", "t/crash-2f"),
            (slow, "timeout after 11", "t/timeout-3e"),
        ] {
            let text = failure(log);
            assert!(text.contains(cause) && text.ends_with(&format!("input: {input}")), "{text}");
        }
        assert_eq!(failure("==5== ERROR: no corpus\n"), "no corpus");
        assert_eq!(failure(""), "it failed without a word");
    }
}
