//! Tests of whole reports about a part of a log.

use std::fmt::Write as _;

use super::*;
use serde_json::Value;

/// Names of instances that would be an HTML script, an element or the end of an element if a report did not escape
/// them.
const HOSTILE: [&str; 4] = [
    "</script><script>owned=1</script>",
    "<!-- <img src=http://203.0.113.9/x onerror=owned=1>",
    "\u{2028}\u{202e}';owned=1//",
    "]]>{{x}}${owned}",
];

/// Returns a CSV log of counter paths, with the value of each row and column; `None` is missing.
fn log(
    names: &[String],
    times: impl Iterator<Item = i64>,
    value: impl Fn(i64, usize) -> Option<f64>,
) -> Logs {
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    names.iter().for_each(|name| write!(text, ",\"\\\\HOST\\{}\"", name.replace('"', "\"\"")).unwrap());
    text.push('\n');
    for second in times {
        let (days, rest) = (second / 86_400, second % 86_400);
        let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
        write!(text, "\"11/{:02}/2026 {hours:02}:{minutes:02}:{seconds:02}.000\"", days + 1).unwrap();
        for column in 0..names.len() {
            match value(second, column) {
                Some(value) => write!(text, ",\"{value}\"").unwrap(),
                None => text.push_str(",\" \""),
            }
        }
        text.push('\n');
    }
    Logs::from_bytes(text.as_bytes()).unwrap()
}

fn made(logs: &Logs, options: &ReportOptions) -> Report {
    report(logs, Window::default(), options).unwrap()
}

/// Returns the data of the charts in a report, parsed from its JSON.
fn data(report: &Report) -> Value {
    let json = report.html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(json).unwrap()
}

/// Returns the HTML of a report except its scripts, styles and data.
fn body(report: &Report) -> String {
    let mut rest = report.html.as_str();
    let mut body = String::new();
    for (begin, end) in [("<style", "</style>"), ("<script", "</script>"), ("<script", "</script>")] {
        let (before, after) = rest.split_once(begin).unwrap();
        body.push_str(before);
        rest = after.split_once(end).unwrap().1;
    }
    body + rest
}

#[test]
fn hostile_names_are_inert_text() {
    let names: Vec<String> =
        HOSTILE.iter().map(|name| format!("Shop({})\\Requests/sec", name.replace('/', "|"))).collect();
    let counters: Vec<String> =
        HOSTILE.iter().map(|name| format!("Set\\{}", name.replace('/', "|"))).collect();
    let names: Vec<String> = names.into_iter().chain(counters).collect();
    let logs = log(&names, 0..5, |_, _| Some(1.0));
    let options = ReportOptions {
        title: Some(HOSTILE[0].to_owned()),
        files: vec![HOSTILE[1].to_owned()],
        about: vec![HOSTILE[2].to_owned()],
        machine: Some(HOSTILE[0].to_owned()),
        ..ReportOptions::default()
    };
    let report = made(&logs, &options);
    // Its own two scripts, one of them data, and nothing else.
    assert_eq!(report.html.matches("<script").count(), 2);
    assert_eq!(report.html.matches("</script").count(), 2);
    assert!(!body(&report).contains("<img") && !body(&report).contains("<!--"));
    assert!(!report.html.contains(['\u{2028}', '\u{202e}']));
    assert!(body(&report).contains("&lt;/script&gt;&lt;script&gt;owned=1"));
    let shown: Vec<String> = data(&report)["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["instance"].as_str().unwrap().to_owned())
        .collect();
    for name in HOSTILE {
        assert!(shown.contains(&name.replace('/', "|")), "{name}: {shown:?}");
    }
}

#[test]
fn nothing_is_fetched() {
    let logs = log(&["Memory\\Pages/sec".to_owned()], 0..5, |second, _| Some(second as f64));
    let report = made(&logs, &ReportOptions::default());
    let policy = report.html.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
    for attribute in [" src=", " srcset=", "href=\"http", "url(", "@import", " import(", "fetch("] {
        assert!(!report.html.contains(attribute), "{attribute}");
    }
    // Addresses only stand in the comment about uPlot, and as the name of a format.
    let known = ["https://github.com/leeoniya/uPlot ", "http://www.w3.org/2000/svg\""];
    for (at, _) in report.html.match_indices("http") {
        let rest: String = report.html[at..].chars().take(40).collect();
        let is_address = rest.starts_with("http://") || rest.starts_with("https://");
        assert!(!is_address || known.iter().any(|known| rest.starts_with(known)), "{rest}");
    }
    // Each file has its own secret.
    assert_ne!(made(&logs, &ReportOptions::default()).html, report.html);
}

#[test]
fn rows_of_a_long_log_agree_with_a_simple_calculation() {
    let names = ["Shop(a)\\Rate".to_owned(), "Shop(b)\\Rate".to_owned()];
    let value = |second: i64, column: usize| {
        let wave = ((second * 37 + 11) % 997) as f64 / 7.0 + column as f64;
        (column == 0 || !(3_000..5_000).contains(&second)).then_some(wave)
    };
    let times: Vec<i64> = (0..10_000).filter(|second| !(6_000..7_000).contains(second)).collect();
    let logs = log(&names, times.iter().copied(), value);
    let data = data(&made(&logs, &ReportOptions::default()));
    assert!(data["is_bucketed"].as_bool().unwrap());
    let cell = data["interval"].as_f64().unwrap() as i64 / 1_000;
    assert_eq!(cell, 10);
    let points = data["times"].as_array().unwrap();
    assert!(points.len() <= axis::ROWS_MOST);
    let number = |of: &Value| of.as_f64();
    let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() <= b.abs() * 1e-5);
    let epoch = 1_793_491_200; // 2026-11-01
    let mut compared = 0;
    for (column, line) in data["lines"].as_array().unwrap().iter().enumerate() {
        assert_eq!(line["instance"], ["a", "b"][column]);
        for (row, ms) in points.iter().enumerate() {
            let second = ms.as_i64().unwrap() / 1_000 - epoch;
            let values: Vec<f64> = times
                .iter()
                .filter(|time| **time / cell == second / cell)
                .filter_map(|time| value(*time, column))
                .collect();
            let got = number(&line["values"][row]);
            let Some(last) = values.last() else {
                assert_eq!(got, None, "{column} {row}");
                continue;
            };
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let of = |what: &str| number(&line["rows"][what][row]);
            assert!(close(got, mean), "{column} {row}: {got:?} {mean}");
            assert!(close(of("least"), least) && close(of("greatest"), greatest) && close(of("last"), *last));
            assert_eq!(of("counts"), Some(values.len() as f64));
            compared += 1;
        }
    }
    assert!(compared > 1_500, "{compared}");
    // The gap is a row of its own, without a value.
    let gap = points.iter().position(|ms| (6_000..7_000).contains(&(ms.as_i64().unwrap() / 1_000 - epoch)));
    assert!(data["lines"][0]["values"][gap.unwrap()].is_null());
}

#[test]
fn findings_are_grouped_with_their_commands() {
    let names =
        ["Processor(_Total)\\% Processor Time".to_owned(), "Processor(0)\\% Processor Time".to_owned()];
    let busy = |second: i64, _: usize| Some(if (100..200).contains(&second) { 97.0 } else { 3.0 });
    let logs = log(&names, 0..600, busy);
    let options = ReportOptions { files: vec!["my log.csv".to_owned()], ..ReportOptions::default() };
    let report = made(&logs, &options);
    let body = body(&report);
    assert_eq!((report.findings, report.samples), (1, 600));
    let item = body.split("<li data-rule=\"processors-busy\" data-severity=\"note\">").nth(1).unwrap();
    let item = item.split("</li>").next().unwrap();
    assert!(item.contains("the processors are 97 % busy") && item.contains("at 10 of 60 instants"), "{item}");
    assert!(item.contains("perfset proc --log &#39;my log.csv&#39; --at 2026-11-01T00:01:"), "{item}");
    assert!(body.contains("<details><summary>Not known: 12 of 13 rules lack a value</summary>"), "{body}");
    assert!(body.contains("perfset view &#39;my log.csv&#39; --at "), "{body}");
    // Without the counters of any rule nothing is known, which is not the same as nothing found.
    let logs = log(&["Shop\\Orders".to_owned()], 0..5, |_, _| Some(1.0));
    assert!(
        made(&logs, &ReportOptions::default())
            .html
            .contains("Unknown: the log has no counter that a rule needs")
    );
}

#[test]
fn tables_have_means_and_reasons() {
    let names = [
        "Process(web)\\% Processor Time",
        "Process(web)\\Working Set",
        "Process(web)\\IO Read Bytes/sec",
        "Process(_Total)\\% Processor Time",
        "Process(Idle)\\% Processor Time",
        "Process(cat)\\% Processor Time",
    ];
    let names = names.map(str::to_owned);
    let value = |second: i64, column: usize| match column {
        0 => Some(50.0),
        1 => Some(1_048_576.0 * second as f64),
        2 => Some(1_024.0),
        5 => None,
        _ => Some(150.0),
    };
    let report = made(&log(&names, 0..101, value), &ReportOptions::default());
    let body = body(&report);
    let table = body.split("<h3>Processes</h3>").nth(1).unwrap().split("</table>").next().unwrap();
    let row = table.split("<bdi>web</bdi></th>").nth(1).unwrap().split("</tr>").next().unwrap();
    let want = "<td>50.0 s</td><td>50 %</td><td>100.0 MiB</td><td>100.0 KiB</td>\
                <td class=\"none\" title=\"the log does not have this counter\">–</td>";
    assert_eq!(row, want);
    assert!(!table.contains("_Total") && !table.contains("cat"), "{table}");
    // Without values there is no table, and no number that looks like one.
    let none = made(&log(&names[..1], 0..5, |_, _| None), &ReportOptions::default());
    assert!(!none.html.contains("<h3>Processes"));
}

#[test]
fn requested_counters_come_first_and_others_are_named() {
    let names: Vec<String> = (0..40).map(|at| format!("Set\\Counter {at}")).collect();
    let logs = log(&names, 0..5, |second, column| (column != 7).then_some(second as f64));
    let path = r"\Set\Counter 7".parse().unwrap();
    let options = ReportOptions { counters: vec![path], ..ReportOptions::default() };
    let report = made(&logs, &options);
    let data = data(&report);
    let charts = data["charts"].as_array().unwrap();
    assert_eq!(charts.len(), charts::CHARTS_MOST + 1);
    assert_eq!(charts[0]["title"], "Set: Counter 7");
    assert_eq!(charts[0]["notes"][0]["name"], r"\Set\Counter 7", "it has no value, and says so");
    assert!(report.html.contains("15 more counters of the log"));
    let command = report.html.split("with a chart of one: ").nth(1).unwrap().split("</code>").next().unwrap();
    let is_shown = |at: usize| charts.iter().any(|chart| chart["title"] == format!("Set: Counter {at}"));
    let named = |at: &usize| command.contains(&format!("--counter &#39;\\Set\\Counter {at}&#39; -o"));
    let left_out = (0..40).find(named).unwrap();
    assert!(!is_shown(left_out), "{command}");
    let unknown = ReportOptions { counters: vec![r"\Set\Nothing".parse().unwrap()], ..options };
    assert!(matches!(report_error(&logs, &unknown), ReportError::Path { .. }));
    let due = ReportOptions { due: Some(Instant::now()), ..ReportOptions::default() };
    let long = log(&names[..1], 0..500, |_, _| Some(1.0));
    assert!(matches!(report_error(&long, &due), ReportError::TooLong));
}

fn report_error(logs: &Logs, options: &ReportOptions) -> ReportError {
    report(logs, Window::default(), options).unwrap_err()
}

#[test]
fn a_window_is_a_part_of_the_log() {
    let logs = log(&["Set\\Counter".to_owned()], 0..100, |second, _| Some(second as f64));
    let times = logs.times().unwrap();
    let window = Window { begin: Some(times[20]), end: Some(times[29]) };
    let part = report(&logs, window, &ReportOptions::default()).unwrap();
    assert_eq!(part.samples, 10);
    let values: Vec<f64> =
        data(&part)["lines"][0]["values"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert_eq!(values, (20..30).map(f64::from).collect::<Vec<_>>());
    assert!(part.html.contains("--begin 2026-11-01T00:00:20Z --end 2026-11-01T00:00:29Z"));
    let after = Window { begin: Some(times[99] + 1), end: None };
    let error = report(&logs, after, &ReportOptions::default()).unwrap_err();
    assert!(matches!(error, ReportError::NoSample));
}
