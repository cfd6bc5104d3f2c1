//! Several ways to do the same work, timed side by side.
//!
//! The cost of a run is the CPU time of this thread, or of the process that does the work for it, so that a busy
//! neighbour costs little. All variants run in every round, each round beginning with another one; a ratio is the
//! median of the ratios inside the rounds, because times drift from second to second and ratios much less.

use std::fmt::{self, Display};
use std::hint::black_box;

/// Ways to do the same work.
pub struct Comparison<'a> {
    title: String,
    /// How many values one run handles, unless a variant has its own number.
    values: usize,
    /// What a value is.
    per: &'static str,
    variants: Vec<Variant<'a>>,
}

struct Variant<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> u64 + 'a>,
    /// What comes before each run, and is not timed.
    before: Option<Box<dyn FnMut() + 'a>>,
    /// How many values one run handles.
    values: usize,
    clock: Clock<'a>,
    /// A sample is the mean of so many runs or more.
    least_runs: usize,
    /// Its heading, if the others are divided by it.
    reference: Option<&'static str>,
    goals: Vec<Goal>,
    /// The most ns that a value should take.
    ns_goal: Option<f64>,
}

/// What a run is timed by.
struct Clock<'a> {
    /// CPU time so far, in ns.
    now: Box<dyn Fn() -> f64 + 'a>,
    /// A sample takes at least so long.
    least_ns: f64,
}

/// The most that a ratio should be.
struct Goal {
    reference: &'static str,
    at_most: f64,
}

impl<'a> Comparison<'a> {
    /// Nothing yet.
    pub fn new(title: String, values: usize) -> Self {
        Self { title, values, per: "value", variants: Vec::new() }
    }

    /// Says what a value is.
    #[must_use]
    pub fn per(mut self, per: &'static str) -> Self {
        self.per = per;
        self
    }

    /// Adds a variant. What it returns keeps the compiler from leaving it out.
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

    /// How many values a run of the variant handles that was added last. Ratios are those of the cost of a value.
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

    /// Runs the variant that was added last so often for a sample, or more often: what it does in one run of so many
    /// must be in each sample.
    #[must_use]
    pub fn at_least(mut self, runs: usize) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.least_runs = runs;
        }
        self
    }

    /// Does this before each run of the variant that was added last. It is not timed.
    #[must_use]
    pub fn before(mut self, before: impl FnMut() + 'a) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.before = Some(Box::new(before));
        }
        self
    }

    /// Divides all variants by the one that was added last, in a column of that heading.
    #[must_use]
    pub fn reference(mut self, heading: &'static str) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.reference = Some(heading);
        }
        self
    }

    /// What the variant that was added last should cost at most, in multiples of a reference. `None`: no goal.
    #[must_use]
    pub fn goal(mut self, reference: &'static str, at_most: impl Into<Option<f64>>) -> Self {
        if let (Some(variant), Some(at_most)) = (self.variants.last_mut(), at_most.into()) {
            variant.goals.push(Goal { reference, at_most });
        }
        self
    }

    /// What a value of the variant that was added last should cost at most, in ns. `None`: no goal.
    #[must_use]
    pub fn ns_goal(mut self, at_most: impl Into<Option<f64>>) -> Self {
        if let Some(variant) = self.variants.last_mut() {
            variant.ns_goal = at_most.into();
        }
        self
    }

    /// Runs everything so many times.
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
    /// Enough runs for the clock to be exact; the first is for warming up.
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

    /// ns of one run, as the mean of so many.
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

/// Elsewhere the time that has passed: a busy neighbour costs more there.
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

/// What a [`Comparison`] found, as a table.
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
    /// ns of one run, as the two below.
    median: f64,
    least: f64,
    most: f64,
    /// ns of one value.
    of_value: Number,
    /// By heading.
    ratios: Vec<Number>,
}

/// A number that may have a goal.
#[derive(Debug)]
struct Number {
    number: f64,
    at_most: Option<f64>,
}

impl Report {
    /// Name of each variant, and the ns of one of its values.
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
    /// The goal and whether it is met; nothing if there is none.
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
