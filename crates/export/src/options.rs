//! Options of an exporter of metrics: names, the format, limits.

/// Naming scheme of the exported metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Metric names made of the names of counterset and counter: `perf_memory_available_bytes`.
    #[default]
    Perf,
    /// Metric names of windows_exporter, for the counters that windows_exporter has too, so that its dashboards
    /// continue to work. Other counters are named as in [`Perf`](Self::Perf).
    WindowsExporter,
    /// Metric names of node_exporter, for the counters that node_exporter has too. Other counters are named as in
    /// [`Perf`](Self::Perf).
    NodeExporter,
}

/// Settings of an exporter of metrics, except the paths of counters.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// Naming schemes of metrics; none is the same as [`Profile::Perf`]. A counter is exported once for each scheme
    /// that has a name for it.
    pub profiles: Vec<Profile>,
    /// Prefix of metric names that are generated from counter names, without the `_` behind it; `None` is `perf`.
    pub prefix: Option<String>,
    /// Maximum number of lines (series) with values in a scrape. If there are more, large countersets are cut first.
    pub series_max: usize,
    /// `true` to export metrics about the exporter itself, such as the time that each collection took.
    pub own: bool,
    /// `true` to export `_Total` in addition to the instances that it is the sum of. A total that a path names is
    /// always exported.
    pub totals: bool,
}

impl ExportOptions {
    /// Default maximum number of lines in a scrape, for [`series_max`](Self::series_max).
    pub const SERIES_MAX: usize = 10_000;
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { profiles: Vec::new(), prefix: None, series_max: Self::SERIES_MAX, own: true, totals: false }
    }
}

/// Text format of a scrape that Prometheus reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExpositionFormat {
    /// Prometheus text format, version 0.0.4.
    #[default]
    Prometheus,
    /// OpenMetrics text format, version 1.0.0.
    OpenMetrics,
}

impl ExpositionFormat {
    /// Returns the text format that the `Accept` header of a request prefers: the first of those with the highest
    /// weight. A header that accepts neither format gets Prometheus text, as `Accept` is only a preference.
    ///
    /// ```
    /// use perfset_export::ExpositionFormat;
    /// let format = ExpositionFormat::from_accept("application/openmetrics-text;version=1.0.0,*/*;q=0.1");
    /// assert_eq!(format, ExpositionFormat::OpenMetrics);
    /// assert_eq!(ExpositionFormat::from_accept("text/html,*/*;q=0.8"), ExpositionFormat::Prometheus);
    /// ```
    #[must_use]
    pub fn from_accept(header: &str) -> Self {
        let mut best: Option<(u32, Self)> = None;
        for (weight, format) in header.split(',').filter_map(Self::from_range) {
            if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, format));
            }
        }
        best.map_or(Self::default(), |(_, format)| format)
    }

    /// Returns the text format that one part of an `Accept` header names, and its weight in thousandths.
    fn from_range(range: &str) -> Option<(u32, Self)> {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next()?;
        let (mut weight, mut version) = (1_000, None);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim() {
                name if name.eq_ignore_ascii_case("q") => weight = thousandths(value)?,
                name if name.eq_ignore_ascii_case("version") => version = Some(value.to_owned()),
                _ => {}
            }
        }
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        let version = version.as_deref();
        // Prometheus also offers version 0.0.1 with a lower weight, which is another format.
        if is("application/openmetrics-text") && matches!(version, None | Some("1.0.0")) {
            return Some((weight, Self::OpenMetrics));
        }
        let is_plain = is("text/plain") && matches!(version, None | Some("0.0.4"));
        (is_plain || is("text/*") || is("*/*")).then_some((weight, Self::Prometheus))
    }

    /// Returns the HTTP `Content-Type` of metrics in this text format.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Parses a weight of an `Accept` header from 0 to 1 with at most three digits behind the point, as thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || part.len() > 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let padded: String = part.chars().chain("000".chars()).take(3).collect();
    let whole: u32 = whole.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(padded.parse().ok()?).filter(|weight| *weight <= 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_accept_headers() {
        use ExpositionFormat::{OpenMetrics, Prometheus};
        let of_prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                             version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (header, want) in [
            ("", Prometheus),
            ("*/*", Prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Prometheus),
            (of_prometheus, OpenMetrics),
            (
                "text/plain;version=0.0.4;q=0.5, application/openmetrics-text; version=1.0.0; q=0.9",
                OpenMetrics,
            ),
            ("text/plain, application/openmetrics-text", Prometheus),
            ("application/openmetrics-text, text/plain", OpenMetrics),
            ("application/openmetrics-text;version=0.0.1", Prometheus),
            ("application/openmetrics-text;version=2.0.0, text/plain;q=0.2", Prometheus),
            ("application/openmetrics-text;q=0", Prometheus),
            ("application/openmetrics-text;q=0.001", OpenMetrics),
            ("Application/OpenMetrics-Text; VERSION=\"1.0.0\"; Q=1.0", OpenMetrics),
            ("application/openmetrics-text;q=7", Prometheus),
            ("application/openmetrics-text;q=", Prometheus),
            (";;;=,,=;q=1;", Prometheus),
            ("image/png", Prometheus),
        ] {
            assert_eq!(ExpositionFormat::from_accept(header), want, "{header}");
        }
    }
}
