//! Judge of the values of a query: compares each with the rule of the test's model of a machine.

use std::collections::HashMap;

use perfset_catalogue::{
    cache, linux_memory, linux_network_interface, linux_process, memory, network_interface, pressure_stall,
    process, process_v2, thread,
};
use perfset_core::{Counter, CounterId, CounterType, Guid, Mark, NoValue, RawValue};
use perfset_engine::Value;

use super::basics::{Count, Expected, KnownValue, Source, Tally};
use super::world::{ModelRow, SETS, Thing, World};

/// State of the test's model at one sample, with its rows.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) world: World,
    rows: HashMap<Guid, Vec<ModelRow>>,
}

impl Truth {
    pub(crate) fn new(world: World) -> Self {
        let rows = SETS.iter().map(|set| (*set, world.rows(*set))).collect();
        Self { world, rows }
    }

    fn row(&self, set: Guid, name: &str, id: Option<u32>) -> Option<&ModelRow> {
        let is_it = |row: &&ModelRow| row.name == name && (row.id.is_none() || id.is_none() || row.id == id);
        self.rows.get(&set)?.iter().find(is_it)
    }

    fn is_at_fault(&self, sources: &[Option<Source>]) -> bool {
        sources.iter().flatten().any(|source| self.world.is_at_fault(*source))
    }

    /// Returns `true` if a fault of a file may make the list of a counterset's rows wrong about the row with this id.
    fn is_list_at_fault(&self, set: Guid, id: Option<u32>) -> bool {
        let is_of_processes =
            [process_v2::GUID, process::GUID, linux_process::GUID, thread::GUID].contains(&set);
        let rows = self.rows.get(&set).map(Vec::as_slice).unwrap_or_default();
        if is_of_processes {
            // A process is known by its number even if its name is not.
            let pid = id.map(|id| if set == thread::GUID { id / 2 * 2 } else { id });
            let pid = pid.map(|pid| if id == Some(1) { 1 } else { pid });
            return pid.is_some_and(|pid| self.world.is_at_fault(Source::Process(pid, "stat")));
        }
        rows.iter().any(|row| self.is_at_fault(&row.from))
    }
}

/// Judgement of a counter's value: the error describes the difference from the model.
pub(crate) type Verdict = Result<(), String>;

/// Wrong value of a query: its counter, and a description.
pub(crate) type Wrong = (String, String);

pub(crate) struct Judge<'a> {
    /// State of the model at the sample before the previous one.
    pub(crate) older: Option<&'a Truth>,
    /// State of the model at the previous sample.
    pub(crate) old: Option<&'a Truth>,
    pub(crate) new: &'a Truth,
}

/// Least and greatest possible increase of a count.
type Range = (f64, f64);

impl Judge<'_> {
    /// Judges all values of a sample by the model, and returns the wrong ones.
    pub(crate) fn all<'v>(&self, values: impl Iterator<Item = Value<'v>>, tally: &mut Tally) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let mut seen: HashMap<(Guid, String, Option<u32>), bool> = HashMap::new();
        let mut last: Option<(usize, Guid, String, Option<u32>)> = None;
        let mut row = None;
        for value in values {
            let (set, id) = (value.counterset.guid, value.instance_id.map(|id| id.0));
            let name = value.instance.to_string();
            let key = (value.entry, set, name.clone(), id);
            if last.as_ref() != Some(&key) {
                row = self.new.row(set, &name, id);
                seen.insert((set, name.clone(), row.and_then(|row| row.id)), true);
                last = Some(key);
            }
            tally.note(match (&value.value, value.mark) {
                (Err(_), _) => "value is missing",
                (Ok(_), None) => "value is ok",
                (Ok(_), Some(_)) => "value is marked",
            });
            let judged = match row {
                Some(row) => self.value(&value, row),
                None => self.stranger(&value, &name),
            };
            if let Err(why) = judged {
                let (set, counter) = (&value.counterset.name, value.counter.shown_name());
                let (raw, mark, shown) = (value.raw, value.mark, &value.value);
                let where_is = row.map_or("?".to_owned(), |row| format!("{:?}", row.thing));
                let kind = where_is.split('(').next().unwrap_or_default();
                let about = format!("({name} {id:?}): {why}\n  raw {raw:?}, mark {mark:?}, value {shown:?}");
                wrong.push((format!("{set} {kind}\\{counter}"), about));
            }
        }
        for (set, rows) in &self.new.rows {
            for row in rows {
                let is_seen = seen.contains_key(&(*set, row.name.clone(), row.id));
                if !is_seen && !self.new.is_at_fault(&row.from) && !self.new.is_list_at_fault(*set, row.id) {
                    wrong.push((format!("{set} row"), format!("there is no {row:?}")));
                }
            }
        }
        wrong
    }

    /// Judges a value of a row that the model does not have.
    fn stranger(&self, value: &Value<'_>, name: &str) -> Verdict {
        let (set, id) = (value.counterset.guid, value.instance_id.map(|id| id.0));
        let is_failure = value.raw.is_none() && (name == "*" || name.is_empty());
        if self.new.is_list_at_fault(set, id) || is_failure && self.new.rows[&set].is_empty() {
            return Ok(());
        }
        Err("there is no such row".to_owned())
    }

    fn value(&self, value: &Value<'_>, row: &ModelRow) -> Verdict {
        let (set, counter) = (value.counterset.guid, value.counter);
        let known = self.new.world.known(set, row.thing, counter.id);
        let is_excused = self.new.is_at_fault(&known.from) || self.new.is_at_fault(&row.from);
        let Some(raw) = value.raw else {
            let has_come = has_come((set, counter.id), row, self.old);
            return match &known.wanted {
                Expected::Never | Expected::Unknown | Expected::MayLack(_) => Ok(()),
                Expected::Total(total) if total.rows.is_empty() => Ok(()),
                Expected::Sum(sum) if !sum.is_whole && sum.readable.1 == 0 => Ok(()),
                _ if is_excused || has_come => Ok(()),
                wanted => Err(format!("it is missing, and should be {wanted:?}")),
            };
        };
        check_raw(raw, value.mark, &known.wanted)?;
        if let Expected::Unknown = known.wanted {
            return self.unknown(value);
        }
        match counter.counter_type.needs_two_samples() {
            false => self.level(value, &known, raw.get(), row, is_excused),
            true => self.growth(value, &known, row, is_excused),
        }
    }

    /// Judges a value that the model does not have: it must not be negative.
    fn unknown(&self, value: &Value<'_>) -> Verdict {
        match &value.value {
            Ok(shown) if !(shown.nocap() >= 0.0 && shown.nocap().is_finite()) => {
                Err("it is negative".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn level(
        &self,
        value: &Value<'_>,
        known: &KnownValue,
        raw: u64,
        row: &ModelRow,
        is_excused: bool,
    ) -> Verdict {
        let now_100ns = super::kernel::anchor().unwrap().time_100ns(self.new.world.clocks.monotonic_ns);
        let want = match value.counter.counter_type {
            CounterType::PERF_ELAPSED_TIME => (i128::from(now_100ns) - i128::from(raw)) as f64 / 1e7,
            CounterType::PERF_RAW_FRACTION | CounterType::PERF_LARGE_RAW_FRACTION => {
                let base = value
                    .counter
                    .base
                    .map(|base| self.new.world.known(value.counterset.guid, row.thing, base));
                match base.map(|base| base.wanted) {
                    Some(Expected::Level(base)) => 100.0 * raw as f64 / base as f64,
                    _ => return Ok(()),
                }
            }
            _ => raw as f64,
        };
        match &value.value {
            Ok(shown) if close(shown.raw, want) => Ok(()),
            Ok(_) => Err(format!("it should be {want}, of {known:?}")),
            Err(_) if value.counter.name.is_none() || is_base(value.counter) => Ok(()),
            Err(_) if want < 0.0 || is_excused => Ok(()),
            Err(_) => Err(format!("it is missing, and should be {want}")),
        }
    }

    fn growth(&self, value: &Value<'_>, known: &KnownValue, row: &ModelRow, is_excused: bool) -> Verdict {
        let Some(old) = self.old else {
            return if value.value.is_err() { Ok(()) } else { Err("there was nothing before".to_owned()) };
        };
        let set = value.counterset.guid;
        let old_row = old.row(set, &row.name, row.id);
        // Rates divide by ns. Timers divide by a clock of 100 ns units, which is rounded before the
        // difference is taken.
        let passed_ns = self.new.world.clocks.monotonic_ns - old.world.clocks.monotonic_ns;
        let passed = (self.new.world.clocks.monotonic_ns / 100 - old.world.clocks.monotonic_ns / 100) as f64;
        let Ok(shown) = &value.value else {
            // A missing value needs an excuse from either end of the interval: a fault, another instance, a
            // clock or a count that fell.
            let was_missing = old_row.is_none_or(|row| {
                old.is_at_fault(&old.world.known(set, row.thing, value.counter.id).from)
                    || old.is_at_fault(&row.from)
            });
            let other = old_row.is_some_and(|old| {
                old.serial != row.serial || has_come((set, value.counter.id), old, self.older)
            });
            let falls = |wanted: &Expected| self.is_disturbed(wanted);
            let base = value.counter.divisor().map(|base| self.new.world.known(set, row.thing, base).wanted);
            let is_other = was_missing || other || self.new.world.cpus.changed + 1 >= self.new.world.sample;
            let fell = matches!(value.value, Err(NoValue::NegativeValue { .. }));
            // Counts that the kernel lowers now and then must be held, not reported as fallen.
            if fell && !is_excused && !is_other && is_held(set, row.thing) {
                return Err(format!("it fell, and should be held, of {known:?}"));
            }
            let is_allowed = is_excused
                || was_missing
                || other
                || passed_ns <= 0
                || falls(&known.wanted)
                || base.as_ref().is_some_and(falls)
                || self.changes(row)
                || is_share_of_others(known, base.as_ref())
                || matches!(known.wanted, Expected::Never)
                || value.raw.is_some_and(|raw| matches!(raw, RawValue::U32(_)) && !value.counter.wraps);
            return if is_allowed {
                Ok(())
            } else {
                Err(format!("it is missing without need, of {known:?}"))
            };
        };
        let Some(old_row) = old_row else { return Err("there was nothing before".to_owned()) };
        let is_average = matches!(
            value.counter.counter_type,
            CounterType::PERF_AVERAGE_TIMER | CounterType::PERF_AVERAGE_BULK
        );
        if passed_ns <= 0 && !is_average {
            return Err("no time passed".to_owned());
        }
        // Only its `stat` identifies a process; the kernel prints no other text there than the model expects.
        let is_unknown = matches!(row.thing, Thing::Process(_)) && self.new.is_at_fault(&row.from);
        if old_row.serial != row.serial && row.has_birth && !is_unknown {
            return Err("it was another one before".to_owned());
        }
        // Without a mark, the value must be exact, so a fall should have been noticed.
        let before = old.world.known(set, old_row.thing, value.counter.id);
        if let (Expected::Count(a), Expected::Count(b), None) = (&before.wanted, &known.wanted, value.mark) {
            if b.shown < a.shown {
                return Err(format!("it fell, from {} to {}", a.shown, b.shown));
            }
        }
        let is_other = old_row.serial != row.serial;
        // The model knows some increases only within bounds, such as those in ticks, so a range is compared.
        let amount = self.grown(&before.wanted, &known.wanted, is_other, value.mark);
        let base = value.counter.divisor().map(|base| {
            let now = self.new.world.known(set, row.thing, base).wanted;
            self.grown(&old.world.known(set, old_row.thing, base).wanted, &now, is_other, None)
        });
        let seconds = passed_ns as f64 / 1e9;
        let scaled = |factor: f64| (amount.0 * factor, amount.1 * factor);
        let per_item = |amount: Range| match base {
            Some((_, 0.0)) => (0.0, 0.0),
            Some((least, most)) => (amount.0 / most, amount.1 / least.max(1.0)),
            None => (0.0, f64::INFINITY),
        };
        let (low, high) = match value.counter.counter_type {
            CounterType::PERF_COUNTER_COUNTER | CounterType::PERF_COUNTER_BULK_COUNT => scaled(1.0 / seconds),
            CounterType::PERF_100NSEC_TIMER | CounterType::PERF_PRECISION_100NS_TIMER => {
                scaled(100.0 / passed)
            }
            CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE => scaled(1.0 / passed),
            CounterType::PERF_100NSEC_TIMER_INV => {
                let (low, high) = scaled(100.0 / passed);
                (100.0 - high, 100.0 - low)
            }
            CounterType::PERF_AVERAGE_TIMER => per_item(scaled(1e-9)),
            CounterType::PERF_AVERAGE_BULK => per_item(amount),
            other => return Err(format!("the model does not know the type {other}")),
        };
        // Formulas are computed in `f64`, whose rounding grows with the value.
        let slack = 1e-6 * high.abs().clamp(1.0, 1e12);
        let is_inside = (low - slack..=high + slack).contains(&shown.raw);
        if is_inside {
            Ok(())
        } else {
            Err(format!("it should be {low} to {high}: {before:?}, {known:?}, {passed_ns} ns"))
        }
    }

    /// Returns `true` if a count of the model fell, or was below an earlier number, at either end of the interval.
    fn is_disturbed(&self, wanted: &Expected) -> bool {
        match wanted {
            Expected::Count(count) | Expected::Short(count) | Expected::Growth(count) => self.is_late(count),
            Expected::MayLack(wanted) => self.is_disturbed(wanted),
            _ => false,
        }
    }

    fn is_late(&self, count: &Count) -> bool {
        count.shown < count.most || count.disturbed > 0 && count.disturbed + 1 >= self.new.world.sample
    }

    /// Returns `true` if the model's clock was behind an earlier time at either end of the interval.
    fn is_clock_behind(&self) -> bool {
        let is_behind = |truth: &Truth| truth.world.clocks.monotonic_ns < truth.world.latest_ns;
        is_behind(self.new) || self.old.is_some_and(is_behind)
    }

    /// Returns `true` if a row has sums over processors, and other processors were online in the previous sample.
    fn changes(&self, row: &ModelRow) -> bool {
        match row.thing {
            Thing::Cpus | Thing::Idle | Thing::ProcessTotal => {
                self.new.world.cpus.changed == self.new.world.sample
            }
            _ => false,
        }
    }

    fn grown(&self, before: &Expected, now: &Expected, is_other: bool, mark: Option<Mark>) -> Range {
        let reals = |before: u64, now: u64| now.saturating_sub(before) as f64;
        match (before, now) {
            (
                Expected::Count(_) | Expected::Short(_) | Expected::Growth(_),
                Expected::Count(now) | Expected::Short(now) | Expected::Growth(now),
            ) if is_other => (0.0, now.real as f64),
            (Expected::Count(a), Expected::Count(b))
                if !self.is_late(b) && a.shown >= a.most && mark.is_none() =>
            {
                let grown = b.shown as f64 - a.shown as f64;
                (grown, grown)
            }
            (Expected::Short(a), Expected::Short(b)) if !self.is_late(b) && a.shown >= a.most => {
                let grown = reals(a.real, b.real);
                (grown, grown)
            }
            (Expected::Growth(a), Expected::Growth(b))
                if !self.is_late(b) && a.shown >= a.most && !self.is_clock_behind() && mark.is_none() =>
            {
                let grown = reals(a.real, b.real);
                (grown, grown)
            }
            (
                Expected::Count(a) | Expected::Short(a) | Expected::Growth(a),
                Expected::Count(b) | Expected::Short(b) | Expected::Growth(b),
            ) => (0.0, reals(a.real, b.real) + 1.0),
            (Expected::Total(a), Expected::Total(b)) => {
                let mut least = 0.0;
                for (serial, count) in b.rows.iter().filter(|_| a.is_whole && b.is_whole) {
                    let same = a.rows.iter().find(|(other, _)| other == serial);
                    if let (Some((_, old)), false) = (same, self.is_late(count)) {
                        least += count.shown as f64 - old.shown as f64;
                    }
                }
                let most = match is_partial(mark) {
                    true => f64::INFINITY, // what was not known before may come with it
                    false => reals(a.real, b.real) + b.lag as f64,
                };
                ((least - b.lag as f64).max(0.0), most)
            }
            (Expected::Kept(_), Expected::Kept(now)) => {
                let grown = |grown: u64| (grown * now.factor) as f64;
                (grown(now.grown.0), grown(now.grown.1))
            }
            (Expected::MayLack(a), Expected::MayLack(b)) => self.grown(a, b, is_other, mark),
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// Returns `true` if a row without a birth is about another thing than in the previous sample. A reader learns that
/// only by reading.
fn has_come((set, counter): (Guid, CounterId), row: &ModelRow, before: Option<&Truth>) -> bool {
    let was = before.and_then(|before| before.row(set, &row.name, row.id).map(|was| (before, was)));
    let is_unknown = |before: &Truth, was: &ModelRow| {
        before.is_at_fault(&was.from) || before.is_at_fault(&before.world.known(set, was.thing, counter).from)
    };
    !row.has_birth && was.is_none_or(|(before, was)| was.serial != row.serial || is_unknown(before, was))
}

fn is_base(counter: &Counter) -> bool {
    counter.counter_type.is_base()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

/// Returns `true` for a total of disks that is divided by a mean, if the mean in the previous sample was over other
/// disks.
fn is_share_of_others(known: &KnownValue, base: Option<&Expected>) -> bool {
    matches!((&known.wanted, base), (Expected::Kept(kept), Some(Expected::Unknown)) if kept.has_other_rows)
}

/// Returns `true` if a reader holds a count that the kernel lowers, so that it never falls.
fn is_held(set: Guid, thing: Thing) -> bool {
    let falls = [
        memory::GUID,
        linux_memory::GUID,
        cache::GUID,
        network_interface::GUID,
        linux_network_interface::GUID,
        pressure_stall::GUID,
    ];
    !falls.contains(&set) && thing != Thing::ProcessTotal
}

fn is_partial(mark: Option<Mark>) -> bool {
    matches!(mark, Some(Mark::Partial(_)))
}

fn check_raw(raw: RawValue, mark: Option<Mark>, wanted: &Expected) -> Verdict {
    const SHORT: u64 = 1 << 32;
    let bits = |n: u64| if let RawValue::U32(_) = raw { n % SHORT } else { n };
    let got = raw.get();
    let is_right = match wanted {
        Expected::Unknown | Expected::Growth(_) => true,
        Expected::MayLack(wanted) => return check_raw(raw, mark, wanted),
        Expected::Never => false,
        Expected::Level(level) => got == bits(*level),
        Expected::Aged(now, before) => {
            got == bits(*now) || mark == Some(Mark::Reused) && got == bits(*before)
        }
        Expected::Count(count) => {
            let is_held = mark == Some(Mark::Held) && (count.shown..=count.most).contains(&got);
            got == bits(count.shown) || is_held
        }
        Expected::Short(count) => {
            let is_held = mark == Some(Mark::Held);
            got % SHORT == count.shown % SHORT || is_held
        }
        Expected::Sum(sum) => {
            let is_in = |(least, most): (u64, u64)| (least..=most).contains(&got);
            match is_partial(mark) {
                true => !sum.is_whole && is_in((sum.readable.0, sum.all.1)),
                false if !sum.is_whole && sum.may_end => !sum.lacks && is_in((sum.readable.0, sum.all.1)),
                false => !sum.lacks && is_in(sum.all),
            }
        }
        Expected::Kept(kept) => {
            let is_short = matches!(raw, RawValue::U32(_));
            let is_mark_right = if is_partial(mark) { kept.may_lack } else { !kept.lacks };
            kept.allows(got, is_short) && is_mark_right
        }
        Expected::Total(total) => {
            // A total may be less than the sum of the rows: a row that appears later does not add its past.
            let is_possible = matches!(raw, RawValue::U32(_)) || got <= total.real + total.lag;
            is_possible && if is_partial(mark) { !total.is_whole } else { !total.lacks }
        }
    };
    if is_right { Ok(()) } else { Err(format!("the raw value should be {wanted:?}")) }
}
