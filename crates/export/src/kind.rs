//! Metrics of a counter, derived from the counter's type: the raw value is exported, never a rate.
//!
//! A counter that is divided by another one becomes two metrics; the server computes the quotient of their rates.

use perfset_core::counter_type::{Clock, CounterKind, Decoded, Display, NumberKind, Size, ValueKind};
use perfset_core::{Counter, CounterId, CounterType};

use crate::unit::{Unit, UnitConversion, base_unit};

/// Type of a metric in Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricType {
    /// Counter, which rises until its source restarts from zero.
    Counter,
    /// Gauge, which can rise and fall.
    Gauge,
    /// Untyped metric, whose type the exporter with this name leaves open.
    Unknown,
}

/// Source of a metric's value: the counters and the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricValue {
    /// The raw value of a counter, in a base unit.
    Raw(CounterId, UnitConversion),
    /// The raw value of a counter that counts ticks of a clock, in seconds.
    Ticks(CounterId, Clock),
    /// The raw value of a counter divided by that of its base, times this factor.
    Share(CounterId, CounterId, u8),
    /// The raw value of a counter divided by that of its base, plus this number.
    Shifted(CounterId, CounterId, i8),
    /// The raw value of a counter less that of another one, in a base unit. It can be below 0.
    Difference(CounterId, CounterId, UnitConversion),
    /// The raw value of a counter that is a start time, in ticks of the counterset's clock: converted to seconds
    /// since 1970.
    Start(CounterId),
    /// The raw value of a counter that is a real number, in a base unit.
    Real(CounterId, UnitConversion),
}

impl MetricValue {
    /// Returns the counter whose raw value is read for the metric.
    pub fn counter(self) -> CounterId {
        match self {
            Self::Raw(id, _)
            | Self::Ticks(id, _)
            | Self::Share(id, _, _)
            | Self::Shifted(id, _, _)
            | Self::Difference(id, _, _)
            | Self::Start(id)
            | Self::Real(id, _) => id,
        }
    }
}

impl MetricValue {
    /// Returns the second counter whose raw value is read for the metric, if there is one.
    pub fn second(self) -> Option<CounterId> {
        match self {
            Self::Share(_, other, _) | Self::Shifted(_, other, _) | Self::Difference(_, other, _) => {
                Some(other)
            }
            Self::Raw(..) | Self::Ticks(..) | Self::Start(_) | Self::Real(..) => None,
        }
    }
}

/// Meaning of a metric for its counter, which decides a part of the metric's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Metric with the counter's value itself, in this base unit.
    Value(Option<Unit>),
    /// Number that a sum is divided by: the number of additions to the sum. The unit is that of the sum.
    Base(Option<Unit>),
    /// Time for which the counted object was active.
    Active,
    /// Time for which the counted object was idle, for a counter that shows the active time.
    Idle,
    /// Sum over time of the length of a queue, in items times seconds.
    Queue,
    /// Number of items whose active times are counted together.
    Items,
    /// Time at which the counted object began.
    Start,
}

/// Metric of a counter; a counter has at most two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metric {
    pub sort: MetricType,
    pub reading: MetricValue,
    pub role: Role,
}

/// Properties of a counter that its registration does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CounterTraits {
    /// `true` if the counter is in the catalogue, where a counter without a unit is a plain number.
    pub is_built_in: bool,
    /// `true` if the counter only rises until its source restarts, although its type does not express this.
    pub rises: bool,
}

/// Returns the metrics that are exported for a counter; none if the counter has no number of its own.
///
/// The kind comes from the bits of the type. A type without a named constant therefore gets the kind of the types
/// that are computed alike.
pub(crate) fn metrics(counter: &Counter, known: CounterTraits) -> Vec<Metric> {
    use CounterKind as K;
    let (id, code) = (counter.id, counter.counter_type);
    let decoded = code.decode();
    // Its bits are those of a whole number. Only the code as a whole identifies the double.
    if code == CounterType::PERF_DOUBLE_RAW {
        let role = Role::Value(None);
        return vec![Metric {
            sort: MetricType::Gauge,
            reading: MetricValue::Real(id, UnitConversion::ONE),
            role,
        }];
    }
    match decoded.kind {
        ValueKind::Number(_) if code == CounterType::PERF_COUNTER_HISTOGRAM_TYPE => Vec::new(),
        ValueKind::Number(_) if decoded.size == Size::Zero => Vec::new(), // a label
        ValueKind::Number(_) if known.rises => {
            vec![raw(MetricType::Counter, id, base_unit(&counter.unit, false))]
        }
        ValueKind::Number(_) => vec![raw(MetricType::Gauge, id, base_unit(&counter.unit, true))],
        // Types that show the difference of two samples: the raw value is a count.
        ValueKind::Counter(K::Value) => vec![raw(MetricType::Counter, id, base_unit(&counter.unit, false))],
        ValueKind::Counter(K::Rate) if decoded.display == Display::Percent => timer(counter, &decoded),
        ValueKind::Counter(K::Rate) => vec![raw(MetricType::Counter, id, base_unit(&counter.unit, false))],
        ValueKind::Counter(K::Precision) => timer(counter, &decoded),
        ValueKind::Counter(K::QueueLen) => vec![ticks(id, decoded.clock, Role::Queue)],
        ValueKind::Counter(K::Fraction) => fraction(counter, &decoded, known),
        ValueKind::Counter(K::Elapsed) => {
            vec![Metric { sort: MetricType::Gauge, reading: MetricValue::Start(id), role: Role::Start }]
        }
        ValueKind::Counter(K::Base | K::Histogram)
        | ValueKind::Text(_)
        | ValueKind::Zero
        | ValueKind::Unknown => Vec::new(),
    }
}

/// Returns `true` if counters of this type, such as flags and addresses, are exported only if a path names them in
/// full.
pub(crate) fn is_obscure(code: CounterType) -> bool {
    code.decode().kind == ValueKind::Number(NumberKind::Hex)
}

fn raw(sort: MetricType, id: CounterId, unit: Option<Unit>) -> Metric {
    let scale = unit.map_or(UnitConversion::ONE, |unit| unit.scale);
    Metric { sort, reading: MetricValue::Raw(id, scale), role: Role::Value(unit) }
}

fn ticks(id: CounterId, clock: Clock, role: Role) -> Metric {
    Metric { sort: MetricType::Counter, reading: MetricValue::Ticks(id, clock), role }
}

/// Returns the metrics of a timer counter: the time for which one or several items were active or idle.
fn timer(counter: &Counter, decoded: &Decoded) -> Vec<Metric> {
    let role = if decoded.inverse { Role::Idle } else { Role::Active };
    let time = ticks(counter.id, decoded.clock, role);
    let items = counter.multi.filter(|_| decoded.multi).map(|items| Metric {
        sort: MetricType::Gauge,
        reading: MetricValue::Raw(items, UnitConversion::ONE),
        role: Role::Items,
    });
    std::iter::once(time).chain(items).collect()
}

/// Returns the metrics of a counter that is a fraction of a base: a quotient, or two counters whose rates can be
/// divided.
fn fraction(counter: &Counter, decoded: &Decoded, known: CounterTraits) -> Vec<Metric> {
    let (id, Some(base)) = (counter.id, counter.base) else { return Vec::new() };
    let unit = base_unit(&counter.unit, false);
    let with_base = |first: Metric, unit| {
        let base = Metric { role: Role::Base(unit), ..raw(MetricType::Counter, base, None) };
        vec![first, base]
    };
    match decoded.display {
        Display::Percent if decoded.delta => with_base(raw(MetricType::Counter, id, None), None),
        // The formula makes percentages. A counter with another unit has a base to match.
        Display::Percent => {
            let is_plain = known.is_built_in && &*counter.unit != "%";
            let (times, unit) = if is_plain { (100, unit) } else { (1, base_unit("%", false)) };
            let reading = MetricValue::Share(id, base, times);
            vec![Metric { sort: MetricType::Gauge, reading, role: Role::Value(unit) }]
        }
        Display::Seconds => {
            let unit = base_unit("s", false);
            with_base(ticks(id, decoded.clock, Role::Value(unit)), unit)
        }
        _ => with_base(raw(MetricType::Counter, id, unit), unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Clock::{ObjectTime, PerfTime, Time100Ns};
    use std::fmt::Write;

    const A: CounterId = CounterId(2);
    const B: CounterId = CounterId(3);

    fn shown(code: CounterType) -> String {
        let mut counter = Counter::new(A, code).name("% A");
        (counter.base, counter.multi) = (Some(B), Some(B));
        let mut text = String::new();
        for Metric { sort, reading, role } in metrics(&counter, CounterTraits::default()) {
            let sort = if sort == MetricType::Counter { "counter" } else { "gauge" };
            let reading = match reading {
                MetricValue::Raw(id, UnitConversion::ONE) => format!("raw {}", id.0),
                MetricValue::Raw(..) => "scaled".to_owned(),
                MetricValue::Ticks(id, PerfTime) => format!("{} / PerfFreq", id.0),
                MetricValue::Ticks(id, Time100Ns) => format!("{} / 1e7", id.0),
                MetricValue::Ticks(id, ObjectTime) => format!("{} / object", id.0),
                MetricValue::Ticks(id, Clock::Unknown) => format!("{} / ?", id.0),
                MetricValue::Shifted(..) | MetricValue::Difference(..) => "of no type".to_owned(),
                MetricValue::Share(a, b, times) => format!("{times} * {} / {}", a.0, b.0),
                MetricValue::Start(id) => format!("start {}", id.0),
                MetricValue::Real(id, _) => format!("real {}", id.0),
            };
            let role = match role {
                Role::Value(unit) => unit.map_or("value", |unit| unit.name),
                Role::Base(_) => "base",
                Role::Active => "active",
                Role::Idle => "idle",
                Role::Queue => "queue",
                Role::Items => "items",
                Role::Start => "start",
            };
            let separator = if text.is_empty() { "" } else { "; " };
            write!(text, "{separator}{sort} {reading} {role}").unwrap();
        }
        text
    }

    /// Checks the metrics of every named counter type.
    #[test]
    fn types() {
        let table = [
            ("PERF_COUNTER_RAWCOUNT_HEX", "gauge raw 2 value"),
            ("PERF_COUNTER_LARGE_RAWCOUNT_HEX", "gauge raw 2 value"),
            ("PERF_COUNTER_TEXT", ""),
            ("PERF_COUNTER_RAWCOUNT", "gauge raw 2 value"),
            ("PERF_COUNTER_LARGE_RAWCOUNT", "gauge raw 2 value"),
            ("PERF_DOUBLE_RAW", "gauge real 2 value"),
            ("PERF_COUNTER_DELTA", "counter raw 2 value"),
            ("PERF_COUNTER_LARGE_DELTA", "counter raw 2 value"),
            ("PERF_SAMPLE_COUNTER", "counter raw 2 value"),
            ("PERF_COUNTER_QUEUELEN_TYPE", "counter 2 / PerfFreq queue"),
            ("PERF_COUNTER_LARGE_QUEUELEN_TYPE", "counter 2 / PerfFreq queue"),
            ("PERF_COUNTER_100NS_QUEUELEN_TYPE", "counter 2 / 1e7 queue"),
            ("PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE", "counter 2 / object queue"),
            ("PERF_COUNTER_COUNTER", "counter raw 2 value"),
            ("PERF_COUNTER_BULK_COUNT", "counter raw 2 value"),
            ("PERF_RAW_FRACTION", "gauge 1 * 2 / 3 ratio"),
            ("PERF_LARGE_RAW_FRACTION", "gauge 1 * 2 / 3 ratio"),
            ("PERF_COUNTER_TIMER", "counter 2 / PerfFreq active"),
            ("PERF_PRECISION_SYSTEM_TIMER", "counter 2 / PerfFreq active"),
            ("PERF_100NSEC_TIMER", "counter 2 / 1e7 active"),
            ("PERF_PRECISION_100NS_TIMER", "counter 2 / 1e7 active"),
            ("PERF_OBJ_TIME_TIMER", "counter 2 / object active"),
            ("PERF_PRECISION_OBJECT_TIMER", "counter 2 / object active"),
            ("PERF_SAMPLE_FRACTION", "counter raw 2 value; counter raw 3 base"),
            ("PERF_COUNTER_TIMER_INV", "counter 2 / PerfFreq idle"),
            ("PERF_100NSEC_TIMER_INV", "counter 2 / 1e7 idle"),
            ("PERF_COUNTER_MULTI_TIMER", "counter 2 / PerfFreq active; gauge raw 3 items"),
            ("PERF_100NSEC_MULTI_TIMER", "counter 2 / 1e7 active; gauge raw 3 items"),
            ("PERF_COUNTER_MULTI_TIMER_INV", "counter 2 / PerfFreq idle; gauge raw 3 items"),
            ("PERF_100NSEC_MULTI_TIMER_INV", "counter 2 / 1e7 idle; gauge raw 3 items"),
            ("PERF_AVERAGE_TIMER", "counter 2 / PerfFreq seconds; counter raw 3 base"),
            ("PERF_ELAPSED_TIME", "gauge start 2 start"),
            ("PERF_COUNTER_NODATA", ""),
            ("PERF_AVERAGE_BULK", "counter raw 2 value; counter raw 3 base"),
            ("PERF_SAMPLE_BASE", ""),
            ("PERF_AVERAGE_BASE", ""),
            ("PERF_RAW_BASE", ""),
            ("PERF_LARGE_RAW_BASE", ""),
            ("PERF_COUNTER_MULTI_BASE", ""),
            ("PERF_COUNTER_HISTOGRAM_TYPE", ""),
        ];
        for (code, name) in CounterType::ALL {
            let row = table.iter().find(|(known, _)| known == name);
            let (_, want) = row.unwrap_or_else(|| panic!("{name} is not in the table"));
            assert_eq!(shown(*code), *want, "{name}");
        }
        assert_eq!(table.len(), CounterType::ALL.len());
        for (code, want) in [
            (0x4003_0503, ""),                            // a base, as third parties write it
            (0x2041_0400, "counter 2 / PerfFreq active"), // a timer of 4 bytes
            (0x0001_1000, "gauge raw 2 value"),           // a number with reserved bits
            (0xFFFF_FFFF, ""),
        ] {
            assert_eq!(shown(CounterType(code)), want, "{code:#x}");
        }
    }
}
