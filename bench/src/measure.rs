//! Comparison of several ways to do the same work, timed side by side.
//!
//! The cost of a run is the CPU time of this thread, or of the process that does the work for it, so that a busy
//! neighbour costs little. All variants run in every round, each round beginning with another one; a ratio is the
//! median of the ratios inside the rounds, because times drift from second to second and ratios much less.

use std::fmt::{self, Display};
use std::hint::black_box;

/// Comparison of several variants that do the same work.
pub struct Comparison<'a> {
    title: String,
    /// Number of values that one run of the compared work handles, unless a variant has its own number.
    values: usize,
    /// Name of the unit that a comparison counts as one value, such as "process" or "KiB".
    per: &'static str,
    variants: Vec<Variant<'a>>,
}

struct Variant<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> u64 + 'a>,
    /// Function that is called before each run of the variant, and is not timed.
    before: Option<Box<dyn FnMut() + 'a>>,
    /// Number of values that one run of the variant handles.
    values: usize,
    clock: Clock<'a>,
    /// Minimum number of runs of the variant, of which a sample is the mean.
    least_runs: usize,
    /// Heading of the column of ratios, if other variants are divided by this variant.
    reference: Option<&'static str>,
    goals: Vec<Goal>,
    /// Goal of the variant: the maximum cost of a value, in ns.
    ns_goal: Option<f64>,
}

/// Clock by which the runs of a compared variant are timed.
struct Clock<'a> {
    /// Function that returns the CPU time of the variant's work so far, in ns.
    now: Box<dyn Fn() -> f64 + 'a>,
    /// Minimum time that the runs of a sample take together, in ns.
    least_ns: f64,
}

/// Goal of a variant: the maximum ratio of its cost to that of a reference.
struct Goal {
    reference: &'static str,
    at_most: f64,
}

impl<'a> Comparison<'a> {
    /// Creates a comparison without variants, with its title and its number of values.
    pub fn new(title: String, values: usize) -> Self {
        Self { title, values, per: "value", variants: Vec::new() }
    }

    /// Sets the name of the unit that the comparison counts as one value.
    #[must_use]
    pub fn per(mut self, per: &'static str) -> Self {
        self.per = per;
        self
    }

    /// Adds a variant to the comparison. The result of `run` keeps the compiler from removing the work.
    #[must_use]
    pub fn variant(mut self, name: &'static str, run: impl FnMut() -> u64 + 'a) -> Self {
        let clock = Clock { now: Box::new(thread_cpu_ns), least_ns: 2e6 };
        self.variants.push(Variant {
            name,
            run: Box::new(run),
            before: None,
            values: self.values,
            clock,
            least_runs: 1,
            reference: None,
            goals: Vec::new(),
            ns_goal: None,
        });
        self
    }

    /// Sets the number of values that one run of the last added variant handles. Ratios are those of the cost of a
    /// value.
    #[must_use]
    pub fn values(mut self, values: usize) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.values = values;
        }
        self
    }

    /// Times the variant that was added last by the CPU time of another process, in ns.
    ///
    /// Its samples are longer: what a process does now and then, for all runs together, must be in each.
    #[must_use]
    pub fn timed_by(mut self, now: impl Fn() -> f64 + 'a) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.clock = Clock { now: Box::new(now), least_ns: 2e7 };
        }
        self
    }

    /// Sets the minimum number of runs in a sample of the last added variant. Work that the variant does only in one of
    /// so many runs must be in each sample.
    #[must_use]
    pub fn at_least(mut self, runs: usize) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.least_runs = runs;
        }
        self
    }

    /// Sets a function that is called before each run of the last added variant, and is not timed.
    #[must_use]
    pub fn before(mut self, before: impl FnMut() + 'a) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.before = Some(Box::new(before));
        }
        self
    }

    /// Makes the last added variant a reference: all variants are divided by it, in a column with that heading.
    #[must_use]
    pub fn reference(mut self, heading: &'static str) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.reference = Some(heading);
        }
        self
    }

    /// Sets the goal of the last added variant: the maximum cost, in multiples of a reference. `None` sets no goal.
    #[must_use]
    pub fn goal(mut self, reference: &'static str, at_most: impl Into<Option<f64>>) -> Self {
        if let (Some(variant), Some(at_most)) = (self.variants.last_mut(), at_most.into()) {
            variant.goals.push(Goal { reference, at_most });
        }
        self
    }

    /// Sets the goal of the last added variant: the maximum cost of a value, in ns. `None` sets no goal.
    #[must_use]
    pub fn ns_goal(mut self, at_most: impl Into<Option<f64>>) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.ns_goal = at_most.into();
        }
        self
    }

    /// Measures one sample of every variant of the comparison in each of `rounds` rounds.
    pub fn run(mut self, rounds: usize) -> Report {
        let counts: Vec<usize> = self.variants.iter_mut().map(Variant::runs_in_a_sample).collect();
        let mut samples = vec![Vec::with_capacity(rounds); self.variants.len()];
        for round in 0..rounds {
            for turn in 0..self.variants.len() {
                let at = (round + turn) % self.variants.len();
                samples[at].push(self.variants[at].sample(counts[at]));
            }
        }
        self.report(&samples)
    }

    fn report(&self, samples: &[Vec<f64>]) -> Report {
        let references: Vec<_> = self
            .variants
            .iter()
            .zip(samples)
            .filter_map(|(variant, ns)| Some((variant.reference?, variant.values, ns)))
            .collect();
        let line = |(variant, ns): (&Variant, &Vec<f64>)| {
            let ratio = |(heading, values, of): &(&'static str, usize, &Vec<f64>)| {
                let goal = variant.goals.iter().find(|goal| goal.reference == *heading);
                let ratio = median(ns.iter().zip(of.iter()).map(|(ns, of)| ns / of).collect());
                let ratio = ratio * *values as f64 / variant.values as f64;
                Number { number: ratio, at_most: goal.map(|goal| goal.at_most) }
            };
            let of_value = median(ns.clone()) / variant.values as f64;
            Line {
                name: variant.name,
                median: median(ns.clone()),
                of_value: Number { number: of_value, at_most: variant.ns_goal },
                least: ns.iter().copied().fold(f64::INFINITY, f64::min),
                most: ns.iter().copied().fold(0.0, f64::max),
                ratios: references.iter().map(ratio).collect(),
            }
        };
        Report {
            title: self.title.clone(),
            per: self.per,
            headings: references.iter().map(|(heading, ..)| *heading).collect(),
            lines: self.variants.iter().zip(samples).map(line).collect(),
        }
    }
}

impl Variant<'_> {
    /// Returns the number of runs that a sample of the variant needs to be exact; the first run only warms up.
    fn runs_in_a_sample(&mut self) -> usize {
        const MOST: usize = 1 << 24; // should the clock stand still
        self.sample(1);
        let mut runs = self.least_runs;
        loop {
            let ns = self.sample(runs);
            if ns * runs as f64 >= self.clock.least_ns || runs >= MOST {
                return runs;
            }
            runs *= 2;
        }
    }

    /// Returns the mean time of that many runs of the variant, in ns.
    fn sample(&mut self, runs: usize) -> f64 {
        let Self { run, before, clock, .. } = self;
        let mut timed = |runs: usize| {
            let started = (clock.now)();
            for _ in 0..runs {
                black_box(run());
            }
            (clock.now)() - started
        };
        let ns = match before {
            None => timed(runs),
            Some(before) => (0..runs).fold(0.0, |ns, _| {
                before();
                ns + timed(1)
            }),
        };
        ns / runs as f64
    }
}

#[cfg(target_os = "linux")]
fn thread_cpu_ns() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the elapsed time in ns, because this system does not report the CPU time of a thread: a busy neighbour
/// costs more.
#[cfg(not(target_os = "linux"))]
fn thread_cpu_ns() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e9
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Results of a [`Comparison`], which are printed as a table.
#[derive(Debug)]
pub struct Report {
    title: String,
    per: &'static str,
    headings: Vec<&'static str>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    /// Median time of one run of the variant, in ns; `least` and `most` have the same unit.
    median: f64,
    least: f64,
    most: f64,
    /// Median time of one value of the variant, in ns, with its goal.
    of_value: Number,
    /// Ratio of the variant's cost to each reference, in the order of the headings.
    ratios: Vec<Number>,
}

/// Number in a bench's table that may have a goal.
#[derive(Debug)]
struct Number {
    number: f64,
    at_most: Option<f64>,
}

impl Report {
    /// Returns the name of each variant, and the time in ns that one of its values takes.
    pub fn costs(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.lines.iter().map(|line| (line.name, line.of_value.number))
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.lines.iter().map(|line| line.median).fold(0.0, f64::max);
        let (unit, ns) = if longest >= 1e6 { ("ms", 1e6) } else { ("µs", 1e3) };
        let width = self.lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
        let padded = |text: String| format!("  {text:<25}");
        let headings: String = self.headings.iter().map(|heading| padded(format!("x {heading}"))).collect();
        let goals_width = self.lines.iter().map(|line| line.of_value.goal().len()).max().unwrap_or(0);
        let per = format!("ns/{}", self.per);
        let per_width = per.len().max(9);
        let heading = format!(
            "  {:width$} {unit:>10} {:>25} {:>per_width$}{:goals_width$}{headings}",
            "", "[min .. max]", per, ""
        );
        writeln!(f, "{}\n{}", self.title, heading.trim_end())?;
        for line in &self.lines {
            let range = format!("[{:.3} .. {:.3}]", line.least / ns, line.most / ns);
            let (median, of_value) = (line.median / ns, &line.of_value);
            // Four digits, with which `cargo xtask bench` compares commits.
            let decimals = match of_value.number {
                ..1.0 => 4,
                1.0..10.0 => 3,
                _ => 2,
            };
            let ratios: String = line.ratios.iter().map(|ratio| padded(ratio.to_string())).collect();
            let line = format!(
                "  {:width$} {median:>10.3} {range:>25} {:>per_width$.decimals$}{:goals_width$}{ratios}",
                line.name,
                of_value.number,
                of_value.goal()
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Number {
    /// Returns a text with the number's goal and the words "met" or "MISSED"; empty without a goal.
    fn goal(&self) -> String {
        match self.at_most {
            Some(at_most) if self.number <= at_most => format!(" (goal {at_most}: met)"),
            Some(at_most) => format!(" (goal {at_most}: MISSED)"),
            None => String::new(),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.number < 0.1 { 3 } else { 2 };
        write!(f, "{:>5.decimals$}{}", self.number, self.goal())
    }
}
