//! Statistics of a run.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use perfset_core::CounterId;
use perfset_engine::path::{CounterPath, Run};

use crate::form::is_share_or_rate;
use crate::left_out::NeverThere;
use crate::marked::MarkedValues;
use crate::output::{Output, OutputSample};
use crate::path_names::counter_name;
use crate::text::{escaped, measured, push_sentences};
use crate::writer::SampleWriter;

/// Writer of minimum, mean and maximum of each counter of each instance, at the end of a run.
#[derive(Debug)]
pub struct Summary<'w> {
    out: SampleWriter<'w>,
    paths: Vec<CounterPath>,
    /// Width of lines, in characters.
    width: usize,
    run: Run,
    never_there: NeverThere,
    /// Marked values: the lines cannot show marks.
    marked: MarkedValues,
    /// Name of each counter of each path, and `true` for a percentage or rate.
    names: HashMap<(usize, CounterId), (String, bool)>,
}

impl<'w> Summary<'w> {
    /// Creates the output for values of these paths, with lines of a width in characters.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, paths: &[CounterPath], width: usize) -> Self {
        let (run, never_there, marked, names) = Default::default();
        Self { out, paths: paths.to_vec(), width, run, never_there, marked, names }
    }
}

impl Output for Summary<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { run, never_there, marked, names, paths, .. } = self;
        for machine in sample.machines {
            run.add(machine.values);
            never_there.add(machine.values, paths);
            marked.add(machine.values);
            for v in machine.values {
                names
                    .entry((v.path, v.value.counter.id))
                    .or_insert_with(|| (counter_name(v), is_share_or_rate(v.value.counter)));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let Self { out, run, names, width, never_there, marked, .. } = self;
        let text = &mut String::from("\n");
        // A String takes everything.
        let _ = writeln!(text, "{:>16}  {:>16}  {:>16}  {:>7}", "least", "mean", "greatest", "samples");
        for (series, s) in run.series() {
            let (name, is_share) = names
                .get(&(series.path, series.counter))
                .map_or(("", false), |(name, is)| (name.as_str(), *is));
            let number = |value| measured(value, is_share);
            let instance = escaped(&series.instance.to_string());
            let (min, mean, max) = (number(s.min), number(s.mean()), number(s.max));
            let _ = writeln!(text, "{min:>16}  {mean:>16}  {max:>16}  {:>7}  {instance}  {name}", s.count);
        }
        push_sentences(text, &never_there.sentences(), *width);
        push_sentences(text, &marked.sentences(), *width);
        out.push(text);
        out.finish()
    }
}
