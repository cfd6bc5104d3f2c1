//! Values of a series: recorded samples of one counter of one instance, one after the other, without a query.

use perfset_catalogue::adds_up;
use perfset_core::formula::format;
use perfset_core::{Counter, Counterset, FormattedValue, Identity, Mark, NoValue, Sample};

use super::{MOST, capped};
use crate::aggregate::names_sum;
use crate::total::stronger;

/// Computation of the values of a series, each from a recorded sample and the sample before. The values equal those
/// of a query of the same counter and instance.
#[derive(Clone, Debug)]
pub struct SeriesValues<'a> {
    /// Identity of the instance of the series, without its birth.
    instance: Identity<'a>,
    /// `true` if values of the series above the counter's maximum are limited to it.
    caps: bool,
    before: Option<(Sample<'a>, Option<Mark>)>,
}

impl<'a> SeriesValues<'a> {
    /// Creates the computation of a series of values, for a counter of an instance.
    #[must_use]
    pub fn new(set: &Counterset, counter: &Counter, instance: Identity<'a>) -> Self {
        // A sum over threads reaches 100 for each processor.
        let is_sum = names_sum(instance.instance) && adds_up(set.guid, counter.id);
        Self { instance, caps: counter.caps && !is_sum, before: None }
    }

    /// Returns the value of the next recorded sample, or the reason for having none, and the mark of the value.
    /// `mark` is the mark of the sample's raw value.
    pub fn next(
        &mut self,
        sample: &Result<Sample<'_>, NoValue>,
        mark: Option<Mark>,
    ) -> (Result<FormattedValue, NoValue>, Option<Mark>) {
        // A missing sample leaves no base, as in a query: a rate never covers two intervals.
        let before = self.before.take();
        let sample = match sample {
            Ok(sample) => {
                Sample { identity: Identity { birth: sample.identity.birth, ..self.instance }, ..*sample }
            }
            Err(reason) => return (Err(reason.clone()), None),
        };
        self.before = Some((sample, mark));
        // If either total lacks instances, so does the difference.
        let is_difference = sample.counter_type.needs_two_samples();
        let same = before.as_ref().filter(|(old, _)| old.identity.birth == sample.identity.birth);
        let then = same.and_then(|(_, then)| *then).filter(|mark| matches!(mark, Mark::Partial(_)));
        let mark = stronger(mark, then.filter(|_| is_difference));
        match format(before.as_ref().map(|(old, _)| old), &sample) {
            Ok(value) if self.caps && value.raw > MOST => {
                (Ok(FormattedValue { raw: MOST, ..value }), capped(mark))
            }
            value => (value, mark),
        }
    }
}
