//! Series of merged logs: the samples of one counter of one instance.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{CounterId, Identity, Mark, NoValue, RawValue, Sample};
use perfset_engine::{Catalogue, RecordedSample, SampleForm, Sampler, SourceError};

use super::merged::{MergedLogs, ONLY};

/// Passes the recorded samples of one counter of one instance to `each`, in batches.
pub(super) fn series(
    deck: &mut MergedLogs,
    id: CounterId,
    instance: &Identity<'_>,
    each: &mut dyn FnMut(&[RecordedSample<'_>]) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    const BATCH: usize = 256;
    let find = |catalogue: &Catalogue| {
        let set = catalogue.countersets.iter().find(|set| set.guid == instance.counterset);
        Sampler::new(set.ok_or(SourceError::UnknownCounterset(instance.counterset))?, id, *instance)
    };
    let mut catalogue = deck.catalogue(ONLY);
    let mut sampler = find(&catalogue)?;
    let mut template = TemplateSlot::default();
    let mut batch: Vec<RecordedSample<'_>> = Vec::with_capacity(BATCH);
    while deck.step(ONLY)? {
        let (sample, mark) = match template.sample(deck) {
            Some(marked) => marked,
            None => {
                let now = deck.catalogue(ONLY);
                // A sample may bring an object with more counters; the sampler is bound to one registration.
                if !Arc::ptr_eq(&catalogue, &now) {
                    (sampler, catalogue) = (find(&now)?, now);
                }
                let sample = sampler.sample(&deck.clocks(), |want, rows| deck.collect(ONLY, want, rows));
                let mark = sampler.mark();
                template.prepare(deck, &mut sampler, &sample, mark);
                (sample, mark)
            }
        };
        batch.push(RecordedSample { time: deck.time(), sample, mark });
        if batch.len() == BATCH {
            if each(&batch).is_break() {
                return Ok(());
            }
            batch.clear();
        }
    }
    if !batch.is_empty() {
        let _ = each(&batch); // it is over anyway
    }
    Ok(())
}

/// Template for the samples that have the current form of the log, if a template could be made.
#[derive(Default)]
struct TemplateSlot<'a> {
    template: Option<SampleTemplate<'a>>,
    /// Number of log samples before the next attempt to make a template, and number of samples to wait after that
    /// attempt.
    pause: (u32, u32),
}

/// Sample whose numbers are replaced by those of another log sample of the same form.
struct SampleTemplate<'a> {
    form: u64,
    model: Result<Sample<'a>, NoValue>,
    mark: Option<Mark>,
    fields: [SampleField; FIELDS],
}

/// Number of numeric fields of a sample: raw value, base and five clock values.
const FIELDS: usize = 7;
/// Index of the first clock value among the fields of a sample.
const FIRST_CLOCK: usize = 2;

/// Origin of a number in a sample that is made from a template.
#[derive(Clone, Debug)]
enum SampleField {
    /// Constant number, which is the same in all log samples of one form.
    Constant(u64),
    /// Number stored at this range of bytes in the log sample.
    Number(Range<usize>),
    /// Clock value that comes from the clocks of the log sample.
    Clock,
}

impl<'a> TemplateSlot<'a> {
    /// Returns the series' current sample with its mark, made from the template; `None` if no template fits the form
    /// of the log sample.
    #[inline]
    fn sample(&mut self, deck: &mut MergedLogs) -> Option<(Result<Sample<'a>, NoValue>, Option<Mark>)> {
        let template = self.template.as_ref()?;
        let sample = template.sample(deck)?;
        let (left, next) = self.pause;
        self.pause = (left.saturating_sub(1), next.saturating_sub(1));
        Some((sample, template.mark))
    }

    /// Makes a template from the series' current sample, except during a pause between two attempts.
    fn prepare(
        &mut self,
        deck: &mut MergedLogs,
        sampler: &mut Sampler<'a>,
        read: &Result<Sample<'a>, NoValue>,
        mark: Option<Mark>,
    ) {
        /// Maximum number of samples between two attempts to make a template; in many logs, no two samples have the
        /// same form.
        const LONGEST: u32 = 1 << 10;
        let (left, next) = &mut self.pause;
        if let Some(fewer) = left.checked_sub(1) {
            *left = fewer;
            return;
        }
        (*left, *next) = (*next, next.saturating_mul(2).clamp(1, LONGEST));
        let template = SampleTemplate::new(deck, sampler, read, mark);
        self.template = template.filter(|template| template.sample(deck).as_ref() == Some(read));
    }
}

impl<'a> SampleTemplate<'a> {
    /// Makes a template of the series' current sample by reading the sample two more times, with changed numbers.
    fn new(
        deck: &mut MergedLogs,
        sampler: &mut Sampler<'a>,
        read: &Result<Sample<'a>, NoValue>,
        mark: Option<Mark>,
    ) -> Option<Self> {
        const FIRST: [u32; 2] = [1 << 30, 1 << 31];
        let SampleForm { number, places } = deck.form()?;
        let clocks = deck.clocks();
        let mut traced = [None, None];
        let mut is_traced = true;
        for (first, trace) in FIRST.into_iter().zip(&mut traced) {
            is_traced &= deck.renumber(Some(first));
            *trace = Some(sampler.sample(&clocks, |want, rows| deck.collect(ONLY, want, rows)));
        }
        // Also after a failure: its own numbers must be back.
        is_traced &= deck.renumber(None);
        let [Some(a), Some(b)] = traced else { return None };
        if !is_traced {
            return None;
        }
        let mut fields = [const { SampleField::Constant(0) }; FIELDS];
        match (read, &a, &b) {
            (Ok(_), Ok(a), Ok(b)) => {
                let own = [0, 0].into_iter().chain(of_clocks(&Clocks::from(&clocks))).zip(0..);
                let numbers = numbers(a).into_iter().zip(numbers(b)).zip(own);
                for (((a, b), (own, at)), field) in numbers.zip(&mut fields) {
                    *field = match (a == b, at < 2 || a != own) {
                        (false, _) => SampleField::Number(place([a, b], FIRST, &places)?),
                        (true, true) => SampleField::Constant(a),
                        (true, false) => SampleField::Clock,
                    };
                }
            }
            (Err(read), Err(a), Err(b)) if read == a && a == b => {}
            _ => return None,
        }
        Some(Self { form: number, model: read.clone(), mark, fields })
    }

    fn sample(&self, deck: &mut MergedLogs) -> Option<Result<Sample<'a>, NoValue>> {
        let mut sample = None;
        deck.numbers(self.form, |bytes, clocks| {
            sample = match &self.model {
                Ok(model) => self.numbers(bytes, clocks).map(|numbers| Ok(with_numbers(model, numbers))),
                Err(reason) => Some(Err(reason.clone())),
            };
        });
        sample
    }

    fn numbers(&self, bytes: &[u8], clocks: &ClockReading) -> Option<[u64; FIELDS]> {
        let mut numbers = [0; FIELDS];
        let [perf_time, perf_freq, time, object_time, object_freq] = of_clocks(&Clocks::from(clocks));
        let own = [0, 0, perf_time, perf_freq, time, object_time, object_freq];
        for (at, ((number, field), own)) in numbers.iter_mut().zip(&self.fields).zip(own).enumerate() {
            *number = match field {
                SampleField::Constant(number) => *number,
                SampleField::Clock => own,
                SampleField::Number(place) => {
                    let bytes = bytes.get(place.clone())?;
                    let number = match bytes.first_chunk() {
                        Some(long) => u64::from_le_bytes(*long),
                        None => u32::from_le_bytes(*bytes.first_chunk()?).into(),
                    };
                    // As a sampler converts a number to a clock.
                    if at < FIRST_CLOCK { number } else { number.min(i64::MAX.unsigned_abs()) }
                }
            };
        }
        Some(numbers)
    }
}

/// Returns the range of bytes of a number in a log sample, found by its values in two samples with changed numbers.
fn place(traced: [u64; 2], first: [u32; 2], places: &[Range<usize>]) -> Option<Range<usize>> {
    let [a, b] = traced;
    let [first, other] = first.map(u64::from);
    let number = a.checked_sub(first).filter(|number| b.checked_sub(other) == Some(*number))?;
    places.get(usize::try_from(number).ok()?).cloned()
}

fn of_clocks(clocks: &Clocks) -> [u64; 5] {
    let Clocks { perf_time, perf_freq, time_100ns, object_time, object_freq } = *clocks;
    [perf_time, perf_freq, time_100ns, object_time, object_freq]
        .map(|number| u64::from_le_bytes(number.to_le_bytes()))
}

fn numbers(sample: &Sample<'_>) -> [u64; FIELDS] {
    let [perf_time, perf_freq, time, object_time, object_freq] = of_clocks(&sample.clocks);
    [
        sample.raw.get(),
        sample.base.map_or(0, RawValue::get),
        perf_time,
        perf_freq,
        time,
        object_time,
        object_freq,
    ]
}

fn with_numbers<'a>(model: &Sample<'a>, numbers: [u64; FIELDS]) -> Sample<'a> {
    let [raw, base, clocks @ ..] = numbers;
    let [perf_time, perf_freq, time_100ns, object_time, object_freq] =
        clocks.map(|number| i64::from_le_bytes(number.to_le_bytes()));
    let like = |model: RawValue, number: u64| match model {
        RawValue::U32(_) => RawValue::U32(u32::try_from(number & 0xFFFF_FFFF).unwrap_or(u32::MAX)),
        RawValue::U64(_) => RawValue::U64(number),
    };
    Sample {
        raw: like(model.raw, raw),
        base: model.base.map(|model| like(model, base)),
        clocks: Clocks { perf_time, perf_freq, time_100ns, object_time, object_freq },
        ..*model
    }
}
