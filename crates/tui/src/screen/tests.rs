use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::*;
use crate::viewer::tests::{press, viewer};

const LOOK: Look = Look { has_colours: false, is_utf8: true };

/// Returns the text of an interactive screen, without blanks at the ends of lines.
fn screen(viewer: &mut Viewer, width: u16, height: u16) -> String {
    let area = Rect { x: 0, y: 0, width, height };
    let mut buffer = Buffer::empty(area);
    viewer.page = page(viewer, area);
    draw(viewer, LOOK, area, &mut buffer);
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(|y| line(y) + "\n").collect()
}

/// Compares the text of a screen with its stored file, or stores the text if PERFSET_BLESS is set.
fn golden(name: &str, text: &str) {
    let file = format!("{}/src/screen/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("PERFSET_BLESS").is_some() {
        std::fs::create_dir_all(format!("{}/src/screen/golden", env!("CARGO_MANIFEST_DIR"))).unwrap();
        std::fs::write(&file, text).unwrap();
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, want, "PERFSET_BLESS=1 stores {file}");
}

#[test]
fn screens_of_all_tabs_and_sizes() {
    for (width, height) in [(80, 24), (200, 50), (40, 10)] {
        for (tab, name) in [("1", "process"), ("2", "processor"), ("3", "memory")] {
            let mut viewer = viewer();
            press(&mut viewer, "g 10:00:02 <enter>");
            press(&mut viewer, tab);
            golden(&format!("{name}-{width}x{height}"), &screen(&mut viewer, width, height));
        }
    }
}

#[test]
fn screens_of_overlays() {
    for (keys, name) in [
        ("?", "help"),
        ("<enter>", "detail"),
        ("c", "columns"),
        ("/ x", "filter"),
        (": m", "counterset"),
        ("g 10:00:03 <enter> <down>", "missing"),
        ("/ nothing <enter>", "nothing"),
        ("x u", "raw"),
        ("g 10:00:01 <enter> R R R <space>", "total"),
        ("d g 10:00:01 <enter>", "difference"),
    ] {
        let mut viewer = viewer();
        press(&mut viewer, keys);
        golden(name, &screen(&mut viewer, 80, 24));
    }
}

/// Checks that each part of a screen is found at the position where it is drawn, at any size.
#[test]
fn clicks_hit_what_is_drawn() {
    for (width, height) in [(80, 24), (200, 50), (60, 12)] {
        let mut viewer = viewer();
        press(&mut viewer, "g 10:00:05 <enter>");
        let area = Rect { x: 0, y: 0, width, height };
        let at = |viewer: &mut Viewer, text: &str| {
            let screen = screen(viewer, width, height);
            let (y, line) = screen.lines().enumerate().find(|(_, line)| line.contains(text)).unwrap();
            let x = line[..line.find(text).unwrap()].chars().count();
            place_at(viewer, LOOK, area, (u16::try_from(x).unwrap(), u16::try_from(y).unwrap()))
        };
        assert_eq!(at(&mut viewer, "2 Processor"), Some(ScreenPlace::Tab(1)));
        assert_eq!(at(&mut viewer, "WRITE/s"), Some(ScreenPlace::Column(1)));
        assert_eq!(at(&mut viewer, "web "), Some(ScreenPlace::Row(1, None)));
        assert_eq!(at(&mut viewer, "70.0"), Some(ScreenPlace::Row(0, Some(0))));
        assert_eq!(at(&mut viewer, " perfset"), None);
        // The greatest processor time is that of the second sample.
        let Some(ScreenPlace::Time(time)) = at(&mut viewer, "█") else { panic!("no time at {width}") };
        assert_eq!(viewer.shown_time(time, "%S"), "01");
        viewer.click(ScreenPlace::Time(time));
        assert_eq!(viewer.timeline.now(), Some(time));
        viewer.click(ScreenPlace::Row(1, Some(1)));
        assert_eq!(viewer.path().unwrap().to_string(), r"\Process(web)\IO Write Bytes/sec");
        viewer.wheel(false);
        assert_eq!(viewer.row, 0);
        press(&mut viewer, "?");
        viewer.click(ScreenPlace::Tab(1));
        assert_eq!((viewer.tab, &viewer.overlay), (0, &Overlay::None), "a click closes the list of keys");
        viewer.click(ScreenPlace::Tab(1));
        assert_eq!(viewer.tab, 1);
        // Nothing is outside, also of a screen that is too small.
        for x in 0..width + 2 {
            (0..height + 2).for_each(|y| _ = place_at(&viewer, LOOK, area, (x, y)));
        }
        let _ = place_at(&viewer, LOOK, Rect { x: 0, y: 0, width: 1, height: 1 }, (0, 0));
    }
}

#[test]
fn plain_text_has_all_rows() {
    let mut viewer = viewer();
    press(&mut viewer, "g 10:00:02 <enter>");
    let text = plain(&viewer, Some(60));
    let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let want: [&[&str]; 4] = [
        &["2026-11-22", "10:00:02", "Process"],
        &["instance", "%CPU▼", "WRITE/s"],
        &["db", "40.0", "4.8M"],
        &["web", "7.0", "7"],
    ];
    assert_eq!(words, want);
}

#[test]
fn plain_text_of_no_rows_says_so() {
    let mut viewer = viewer();
    press(&mut viewer, "/ none <enter>");
    assert!(
        plain(&viewer, Some(60)).ends_with("\n no row fulfils the filter; Esc removes it\n"),
        "{}",
        plain(&viewer, Some(60))
    );
}

#[test]
fn plain_text_of_many_rows_is_whole() {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..3_000).for_each(|at| text.push_str(&format!(",\"\\\\H\\Process(p{at})\\% Processor Time\"")));
    text.push_str("\r\n\"11/22/2026 10:00:00.000\"");
    (0..3_000).for_each(|_| text.push_str(",\"1\""));
    text.push_str("\r\n");
    let feed = crate::feed::Feed::of_logs(perfset::log::Logs::from_bytes(text.as_bytes()).unwrap());
    let viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    let text = plain(&viewer, Some(80));
    let names: std::collections::HashSet<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with('p'))
        .collect();
    assert_eq!(names.len(), 3_000);
}

#[test]
fn every_size_is_drawn() {
    let mut viewer = viewer();
    for keys in ["", "?", "<esc>", "<enter>", "<esc>", "c", "<enter>", "/"] {
        if !keys.is_empty() {
            press(&mut viewer, keys);
        }
        for width in [1, 2, 13, 39, 40, 41, 79, 160, 161, 300] {
            for height in [1, 2, 9, 10, 11, 24, 60] {
                let text = screen(&mut viewer, width, height);
                assert_eq!(text.lines().count(), usize::from(height), "{width}x{height}");
            }
        }
    }
    assert!(screen(&mut viewer, 39, 9).contains("perfset needs 40"));
}

#[test]
fn names_do_not_steer_the_terminal() {
    let text = String::from_utf8(crate::viewer::tests::log()).unwrap();
    let hostile = text.replace("(db)", "(\u{1b}]0;x\u{7}\u{202e}d\u{301}世界)");
    let logs = perfset::log::Logs::from_bytes(hostile.as_bytes()).unwrap();
    let feed = crate::feed::Feed::of_logs(logs);
    let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    for keys in ["<down>", "<enter>", "<esc>", "+"] {
        press(&mut viewer, keys);
        for (width, height) in [(80, 24), (40, 10), (200, 50)] {
            let text = screen(&mut viewer, width, height);
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text}");
            // The drawing library would drop them silently: they are shown.
            assert!(width < 80 || text.contains("\\u{1b}"), "{text}");
        }
    }
}

#[test]
fn texts_fit_their_places() {
    for (text, width, want) in [
        ("abc", 5, "abc  "),
        ("abcdef", 5, "abcd~"),
        ("世界世界", 5, "世界~"),
        ("世界世界", 4, "世~ "),
        ("", 0, ""),
        ("ab", 1, "~"),
        ("a long name:7", 8, "a lon~:7"),
        ("世界世界:12", 8, "世界~:12"),
        ("a:long end", 6, "a:lon~"),
        ("/srv/backup/mount", 14, "/srv/ba~/mount"),
        ("a.slice/session-12.scope", 10, "a.slice/s~"),
    ] {
        assert_eq!(fitted(text, width), want);
        assert_eq!(fitted(text, width).width(), width);
    }
    for (text, want) in
        [("1.2 MiB/s", "1.2M"), ("7 B/s", "7"), ("12/s", "12"), ("8.1 ms", "8.1 ms"), ("1.0 GiB", "1.0G")]
    {
        assert_eq!(compact(text, false), want);
        assert_eq!(compact(text, true), text);
    }
    assert_eq!(span(59), "59s");
    assert_eq!(span(552), "9m 12s");
    assert_eq!(span(90_000), "1d 1h");
}

#[test]
fn screens_of_a_comparison() {
    let later = String::from_utf8(crate::viewer::tests::log())
        .unwrap()
        .replace(",\"5\",", ",\"9\",")
        .replace("10:00:0", "11:00:0");
    let later = later.replace("\"10\"", "\"30\"").replace("(db)", "(cache)");
    for (keys, width, height) in [("1", 80, 24), ("3", 80, 24), ("1", 40, 10), ("1 <enter>", 200, 50)] {
        let feed = crate::feed::Feed::of_logs(perfset::log::Logs::from_bytes(later.as_bytes()).unwrap());
        let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "--log b.csv").unwrap();
        let before =
            crate::feed::Feed::of_logs(perfset::log::Logs::from_bytes(&crate::viewer::tests::log()).unwrap());
        viewer.compare_with(crate::Baseline::new(before, "--log a.csv", "a.csv").unwrap());
        press(&mut viewer, keys);
        let name = keys.replace([' ', '<', '>'], "");
        golden(&format!("comparison-{name}-{width}x{height}"), &screen(&mut viewer, width, height));
    }
}

/// Compares the screens of each tab, live and at an earlier sample, at each size.
#[test]
fn screens_of_all_live_tabs() {
    for (width, height) in [(80, 24), (200, 50), (40, 10)] {
        for key in 1..=8 {
            let mut viewer = crate::viewer::tests::live(&key.to_string());
            if height >= 40 {
                viewer.fill_strip();
            }
            golden(&format!("live-{key}-{width}x{height}"), &screen(&mut viewer, width, height));
            press(&mut viewer, "<left>");
            golden(&format!("live-past-{key}-{width}x{height}"), &screen(&mut viewer, width, height));
        }
    }
}
