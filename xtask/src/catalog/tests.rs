use uuid::{Uuid, uuid};

use super::set::{Set, load, parse, v5};
use super::{check, generate, header, meaning, pages, root, rust, stale};

const NAMESPACE: Uuid = uuid!("00000002-0003-0005-0007-00000000000b");

/// Valid catalogue file for tests: a percentage with its base, and a counter with an object clock.
const GOOD: &str = r#"
name = "Demo Set"
guid = "v5"
v1_index = 30000
instances = "multiple"
scope = "machine"
help = """
Shows
    the rules.
"""
windows = "Nothing."
exists_on_windows = true
cost = "None."
query = '\Demo Set(*)\% Good/sec'

[provider]
guid = "01020304-0506-0708-090a-0b0c0d0e0f10"
name = "demo"

[[counter]]
id = 2
name = "% Good/sec"
v1_index = 30002
type = "PERF_RAW_FRACTION"
base = 3
scale = -10
unit = "%"
meaning = "same"
help = "Good ones."
differs = "Better."
file = "/proc/demo"
availability = "On Mondays."
permission = "For all."

[[counter]]
id = 3
symbol = "GOOD_BASE"
v1_index = 30004
type = "PERF_RAW_BASE"
attributes = ["noDisplay", "reference"]
file = "/proc/demo"

[[counter]]
id = 5
name = "Age"
v1_index = 30006
type = "PERF_ELAPSED_TIME"
help = "How old."
availability = "Never."
"#;

fn demo(text: &str) -> anyhow::Result<Set> {
    parse(NAMESPACE, "demo-set", text, &[])
}

#[test]
fn v5_agrees_with_rfc_9562() {
    let found = v5(Uuid::NAMESPACE_DNS, "www.example.com");
    assert_eq!(found, uuid!("2ed6657d-e927-568b-95e1-2665a8aea6a2"));
}

#[test]
fn a_good_file() {
    let set = demo(GOOD).unwrap();
    assert_eq!(set.guid, v5(NAMESPACE, "Demo Set"));
    assert_eq!(set.provider_guid, uuid!("01020304-0506-0708-090a-0b0c0d0e0f10"));
    assert_eq!((set.module().as_str(), &*set.entry.help), ("demo_set", "Shows the rules."));
    let symbols: Vec<_> = set.entry.counters.iter().map(|counter| counter.symbol()).collect();
    assert_eq!(symbols, ["PERCENT_GOOD_PER_SEC", "GOOD_BASE", "AGE"]);
    assert_eq!(set.entry.counters[0].whole_help(), "Good ones. Better. On Mondays. For all.");
}

#[test]
fn errors_name_file_counter_and_rule() {
    let good = "counter 2 % Good/sec: ";
    let base = "counter 3 (GOOD_BASE): ";
    let age = "counter 5 Age: ";
    let refused = |what: &str, from: &str, to: &str, place: &str, rule: &str| {
        assert_eq!(GOOD.matches(from).count(), 1, "{what}: {from}");
        let error = demo(&GOOD.replace(from, to)).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let error = format!("{error:#}");
        assert!(error.starts_with(&format!("catalog/demo-set.toml: {place}")), "{what}: {error}");
        assert!(error.contains(rule), "{what}: {error}");
    };
    for (what, from, to, place, rule) in [
        ("unknown field", "scope =", "scop =", "", "unknown field `scop`"),
        ("unknown field of a counter", "unit =", "units =", "", "unknown field `units`"),
        ("no such type", "\"PERF_RAW_BASE\"", "\"PERF_BASE\"", "", "no counter type is called \"PERF_BASE\""),
        ("no GUID", "\"v5\"", "\"v4\"", "", "\"v4\" is no GUID and not v5"),
        ("no such attribute", "\"reference\"", "\"hidden\"", "", "unknown variant `hidden`"),
        ("empty help of the set", "Shows\n    the rules.", "", "", "help: is empty"),
        ("empty help", "\"Good ones.\"", "\"\"", good, "help: is empty"),
        ("no full stop", "\"Better.\"", "\"Better\"", good, "differs: must be whole sentences"),
        ("id taken", "id = 5", "id = 3", "counter 3 Age: ", "id: must be above"),
        ("id falls", "id = 5", "id = 1", "counter 1 Age: ", "id: must be above"),
        ("name taken", "\"Age\"", "\"% good/sec\"", "counter 5 % good/sec: ", "name: is taken"),
        ("symbol taken", "\"Age\"", "\"Good Base\"", "counter 5 Good Base: ", "symbol: GOOD_BASE is taken"),
        ("reserved symbol", "\"GOOD_BASE\"", "\"GUID\"", "counter 3 (GUID): ", "symbol: GUID is taken"),
        (
            "bad symbol",
            "\"GOOD_BASE\"",
            "\"good\"",
            "counter 3 (good): ",
            "symbol: \"good\" must be capitals",
        ),
        (
            "no name, no symbol",
            "symbol = \"GOOD_BASE\"",
            "",
            "counter 3 (): ",
            "symbol: a counter without a name",
        ),
        (
            "shown without a name",
            "name = \"Age\"",
            "symbol = \"AGE\"",
            "counter 5 (AGE): ",
            "name: only a noDisplay",
        ),
        ("index twice", "30006", "30002", age, "v1_index: 30002 is taken in this set"),
        ("odd index", "30006", "30007", age, "v1_index: 30007 must be even"),
        (
            "index of applications",
            "30000",
            "131072",
            "",
            "v1_index: 131072 must be even, above 0 and below 131072",
        ),
        ("meaning lacks", "meaning = \"same\"\n", "", good, "meaning: Windows has the set"),
        ("no such meaning", "\"same\"", "\"like\"", "", "unknown variant `like`"),
        (
            "meaning of what Windows lacks",
            "exists_on_windows = true",
            "exists_on_windows = false",
            good,
            "meaning: Windows does not have the set",
        ),
        ("part without saying so", "\"same\"", "\"part\"", good, "help: must begin with \"On Linux \""),
        ("other without saying so", "\"same\"", "\"other\"", good, "help: must begin with \"On Linux \""),
        (
            "part of what",
            "\"same\"\nhelp = \"Good",
            "\"part\"\nhelp = \"On Linux good",
            good,
            "on_windows: must say what Windows counts",
        ),
        ("scale", "-10", "-11", good, "scale: -11 must be within -10..=10"),
        ("base lacks", "base = 3", "", good, "base: PERF_RAW_FRACTION needs one of type PERF_RAW_BASE"),
        ("base is nowhere", "base = 3", "base = 4", good, "base: there is no counter 4"),
        (
            "base of a wrong type",
            "base = 3",
            "base = 5",
            good,
            "base: counter 5 is PERF_ELAPSED_TIME, must be",
        ),
        ("hidden hex", "\"reference\"", "\"displayAsHex\"", base, "attributes: noDisplay excludes"),
        ("twice", "\"reference\"", "\"noDisplay\"", base, "attributes: one stands twice"),
        (
            "shown base",
            "symbol = \"GOOD_BASE\"\nv1_index = 30004\ntype = \"PERF_RAW_BASE\"\n\
             attributes = [\"noDisplay\", \"reference\"]",
            "name = \"Base\"\nv1_index = 30004\ntype = \"PERF_RAW_BASE\"\nmeaning = \"same\"\nhelp = \"A base.\"",
            "counter 3 Base: ",
            "attributes: a base must be noDisplay",
        ),
        (
            "query of nothing",
            "\\% Good/sec'",
            "\\Good'",
            "",
            "query: \"\\Demo Set(*)\\Good\" is the path of no counter",
        ),
        ("no source", "\"Never.\"", "\"\"", age, "availability: must say why there is no source"),
    ] {
        refused(what, from, to, place, rule);
    }
    for (what, added, next, place, rule) in [
        ("no such range", "range = \"0..1\"", "unit =", "", "unknown variant `0..1`"),
        ("no view", "of = \"Time\"", "name = \"Age\"", age, "of: the set is no view"),
        ("sum of shares", "adds_up = true", "unit =", good, "adds_up: a mean or a share has no sum"),
        ("rises by type", "rises = true", "unit =", good, "rises: only of a RAWCOUNT"),
        (
            "no name of windows_exporter",
            "windows_exporter = \"node_x\"",
            "unit =",
            good,
            "windows_exporter: \"node_x\" must be windows_NAME",
        ),
        (
            "no label",
            "windows_exporter = 'windows_x{mode=idle}'",
            "unit =",
            good,
            "windows_exporter: \"windows_x{mode=idle}\" must be windows_NAME",
        ),
        (
            "no name of node_exporter",
            "node_exporter = 'windows_x'",
            "unit =",
            good,
            "node_exporter: \"windows_x\" must be node_NAME",
        ),
        (
            "no instance of node_exporter",
            "node_exporter = ['node_x', '() node_y']",
            "unit =",
            good,
            "node_exporter: \"() node_y\" must be node_NAME",
        ),
        (
            "factor of nothing",
            "node_exporter_factor = \"512\"",
            "unit =",
            good,
            "node_exporter_factor: there is no node_exporter",
        ),
        (
            "no label of node_exporter",
            "node_exporter_labels = [\"device\"]",
            "scope =",
            "",
            "node_exporter_labels: \"device\" must be LABEL=name",
        ),
        (
            "label with a capital",
            "windows_exporter_label = \"Core\"",
            "scope =",
            "",
            "windows_exporter_label: \"Core\" must be small letters",
        ),
        (
            "odd former index",
            "former_v1_indexes = [29999]",
            "scope =",
            "",
            "former_v1_indexes: v1_index: 29999 must be even",
        ),
        (
            "default counter is nowhere",
            "default_counter = \"% Good\"",
            "scope =",
            "",
            "default_counter: \"% Good\" is no counter that the set shows",
        ),
        (
            "meaning of what has no value",
            "meaning = \"same\"",
            "help = \"How old.\"",
            age,
            "meaning: there is no value",
        ),
        (
            "the same twice",
            "on_windows = \"Good ones.\"",
            "meaning = \"same\"",
            good,
            "on_windows: the meaning is the same",
        ),
        (
            "word with a capital",
            "words = [\"CPU\"]",
            "meaning =",
            good,
            "words: \"CPU\" must be small letters",
        ),
        ("word twice", "words = [\"cpu\", \"cpu\"]", "scope =", "", "words: \"cpu\" stands twice"),
        ("name as a word", "words = [\"demo set\"]", "scope =", "", "words: \"demo set\" is the name"),
        ("word of a base", "words = [\"base\"]", "attributes =", base, "words: nobody searches for"),
        ("no such detail level", "detail = \"user\"", "unit =", "", "unknown variant `user`"),
        ("needless multi", "multi = 5", "base = 3", good, "multi: PERF_RAW_FRACTION takes none"),
        ("half a clock", "time = 5", "base = 3", good, "time, freq: one stands without the other"),
        (
            "clock of a wrong type",
            "time = 2\nfreq = 2",
            "type = \"PERF_ELAPSED_TIME\"",
            age,
            "time: counter 2 is PERF_RAW_FRACTION, must be PERF_COUNTER_LARGE_RAWCOUNT",
        ),
        (
            "hexadecimal real",
            "attributes = [\"displayAsHex\", \"displayAsReal\"]",
            "unit =",
            good,
            "attributes: displayAsHex excludes",
        ),
        ("wide and wraps", "wraps = true", "availability = \"Never.\"", age, "wraps: only a value of 4"),
        (
            "translation of nothing",
            "[[translation]]\nlanguage = 7\nname = \"D\"\ncounter = [{ id = 4, name = \"X\" }]",
            "[provider]",
            "translation 0x0007: counter 4: ",
            "is not in the set",
        ),
    ] {
        refused(what, next, &format!("{added}\n{next}"), place, rule);
    }
}

#[test]
fn the_page_of_meanings_compares_both_systems() {
    let other =
        "meaning = \"other\"\nhelp = \"On Linux good ones.\"\non_windows = \"Windows counts bad ones.\"";
    let text = GOOD.replace("meaning = \"same\"\nhelp = \"Good ones.\"", other);
    let pages = [meaning::page(&[demo(GOOD).unwrap()]), meaning::page(&[demo(&text).unwrap()])];
    for (page, rows) in pages.iter().zip([
        ["| % Good/sec | Good ones. | `/proc/demo`. Better. | same |", "| same | the same thing, perhaps"],
        [
            "| % Good/sec | Windows counts bad ones. | On Linux good ones. `/proc/demo`. Better. | other |",
            "more than Windows counts | 1 |",
        ],
    ]) {
        assert!(rows.iter().all(|row| page.contains(row)), "{page}");
        assert!(page.contains("| Age | How old. | Never. | none |"), "{page}");
        assert!(!page.contains("GOOD_BASE"), "{page}");
    }
    let page = meaning::page(&[demo(
        &GOOD
            .replace("exists_on_windows = true", "exists_on_windows = false")
            .replace("meaning = \"same\"\n", ""),
    )
    .unwrap()]);
    assert!(!page.contains("## Demo Set"), "{page}");
}

/// Checks that every counterset whose name is a base index of Windows has `exists_on_windows`.
#[test]
fn sets_of_windows_say_what_they_mean() {
    let (_, sets) = load(&root().join("catalog")).unwrap();
    let table =
        std::fs::read_to_string(root().join("testdata/windows-definitions/title-indexes.tsv")).unwrap();
    let rows = table.lines().filter_map(|line| line.split_once('\t'));
    let names: Vec<_> =
        rows.filter(|(i, _)| i.parse().is_ok_and(|i: u32| i <= 1_847)).map(|(_, n)| n).collect();
    let of_windows = sets.iter().filter(|set| names.contains(&&*set.entry.name));
    let known: Vec<_> = of_windows.map(|set| (set.stem.as_str(), set.entry.exists_on_windows)).collect();
    assert!(known.len() > 15, "{known:?}");
    assert!(known.iter().all(|(_, exists)| *exists), "{known:?}");
}

#[test]
fn views_inherit_scale_and_detail_level() {
    let base = demo(&GOOD.replace("scale = -10", "scale = -10\ndetail = \"expert\"")).unwrap();
    let view = |counter: &str| {
        let head = GOOD
            .split("[[counter]]")
            .next()
            .unwrap()
            .replace("Demo Set\"", "View\"\nview_of = \"Demo Set\"")
            .replace("Demo Set(", "View(");
        let text = format!("{head}[[counter]]\nid = 0\nname = \"% Good/sec\"\nv1_index = 30008\n{counter}");
        let set =
            parse(NAMESPACE, "view", &text.replace("30000", "30010"), std::slice::from_ref(&base.entry))
                .unwrap();
        rust::counterset(&set)
    };
    let table = view("type = \"PERF_COUNTER_BULK_COUNT\"");
    assert!(table.contains(".detail(DetailLevel::EXPERT).scale(-10)"), "{table}");
    let table = view("type = \"PERF_COUNTER_BULK_COUNT\"\nscale = 0\ndetail = \"wizard\"");
    assert!(table.contains(".detail(DetailLevel::WIZARD)") && !table.contains(".scale("), "{table}");
}

#[test]
fn nothing_is_taken_twice() {
    let mut other = GOOD.replace("Demo Set", "Other Set");
    for index in [30000, 30002, 30004, 30006] {
        other = other.replace(&index.to_string(), &(index + 1000).to_string());
    }
    let provider = "guid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"";
    let guid = format!("guid = \"{}\"", v5(NAMESPACE, "Demo Set"));
    for (what, from, to, rule) in [
        ("nothing", "", "", ""),
        ("guid", "guid = \"v5\"", guid.as_str(), "catalog/other.toml: guid: "),
        ("name", "Other Set", "demo set", "name: demo set is taken"),
        (
            "index of a set",
            "31000",
            "30006",
            "v1_index: 30006 is taken by catalog/demo-set.toml: counter 5 Age",
        ),
        ("index of the same name", "31006", "30006", ""),
        (
            "former index of the same name",
            "v1_index = 31006",
            "v1_index = 31006\nformer_v1_indexes = [30006]",
            "",
        ),
        (
            "former index of another name",
            "v1_index = 31006",
            "v1_index = 31006\nformer_v1_indexes = [30004]",
            "catalog/other.toml: former_v1_indexes: 30004 is taken by catalog/demo-set.toml: counter 3",
        ),
        ("index of another name", "31004", "30006", "v1_index: 30006 is taken by"),
        ("index of a counter", "31006", "30000", "other.toml: counter 5 Age: v1_index: 30000 is taken"),
        ("provider's name", "\"demo\"", "\"demon\"", "is called \"demo\" elsewhere"),
        ("provider's GUID", provider, guid.as_str(), "is that of a counterset"),
    ] {
        let sets = [demo(GOOD).unwrap(), parse(NAMESPACE, "other", &other.replace(from, to), &[]).unwrap()];
        match check::together(&sets) {
            Ok(()) => assert_eq!(rule, "", "{what}"),
            Err(error) => assert!(!rule.is_empty() && error.to_string().contains(rule), "{what}: {error}"),
        }
    }
}

#[test]
fn generator_writes_table_header_and_page() {
    let long = "word ".repeat(40);
    let text = GOOD.replace("Better.", &format!("{long} \\\"end\\\"."));
    let text = text.replace("type = \"PERF_ELAPSED_TIME\"", "type = \"PERF_PRECISION_TIMESTAMP\"");
    let text = text.replace("name = \"Age\"", "name = \"Age\"\nattributes = [\"noDisplay\"]");
    let translation =
        "[[translation]]\nlanguage = 7\nname = \"Satz\"\ncounter = [{ id = 5, name = \"Alter\" }]";
    let set = demo(&text.replace("[provider]", &format!("{translation}\n[provider]"))).unwrap();

    let table = rust::counterset(&set);
    for part in [
        "pub const PERCENT_GOOD_PER_SEC: CounterId = CounterId(2);",
        "/// A counter without a name: `PERF_RAW_BASE`.",
        "Guid::from_u128(0x01020304_0506_0708_090a_0b0c0d0e0f10)",
        ".base(GOOD_BASE)",
        ".hidden().attribute(Attributes::BY_REFERENCE)",
        " T::PERF_PRECISION_TIMESTAMP,",
        "word \\\n            word ",
        "\\\"end\\\". On Mondays. For all.\")",
        "language: Language(0x0007)",
        "Cow::Borrowed(\"Alter\"), std::borrow::Cow::Borrowed(\"\"))",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    let header = header::symbols(std::slice::from_ref(&set));
    let (a, b, c, d) = set.guid.as_fields();
    assert!(header.contains(&format!("{{ 0x{a:08x}, 0x{b:04x}, 0x{c:04x}, {{ 0x{:02x}, ", d[0])), "{header}");
    assert!(header.contains("    PERFLIB_DEMO_SET_AGE = 5\n};"), "{header}");
    let page = pages::counterset(&set);
    assert!(page.contains("| 2 | % Good/sec | `PERF_RAW_FRACTION`, base 3 | % |  | /proc/demo |"), "{page}");
    assert!(page.contains("### 2 % Good/sec\n\nGood ones.\n\n**On Linux**: word "), "{page}");
}

#[test]
fn words_are_in_table_and_page_and_views_inherit_them() {
    let text = GOOD.replace("scale = -10", "scale = -10\nwords = [\"good rate\", \"ok/s\"]");
    let base = demo(&text.replace("scope =", "words = [\"trial\"]\nscope =")).unwrap();
    let head = GOOD
        .split("[[counter]]")
        .next()
        .unwrap()
        .replace("Demo Set\"", "View\"\nview_of = \"Demo Set\"")
        .replace("Demo Set(", "View(");
    let counter =
        "[[counter]]\nid = 0\nname = \"% Good/sec\"\nv1_index = 30008\ntype = \"PERF_COUNTER_BULK_COUNT\"";
    let view = format!("{head}{counter}");
    let view = parse(NAMESPACE, "view", &view, std::slice::from_ref(&base.entry)).unwrap();
    let page = pages::counterset(&base);
    assert!(page.contains("`\n\n**Found by**: trial\n\n"), "{page}");
    assert!(page.contains("\n**Found by**: good rate, ok/s\n"), "{page}");
    let index = rust::index(NAMESPACE, &[base, view]);
    let of_counter = "counters: &[(demo_set::PERCENT_GOOD_PER_SEC, &[\"good rate\",\"ok/s\",]),]";
    assert!(index.contains(of_counter) && index.contains("counterset: &[\"trial\",]"), "{index}");
    let of_view = "counterset: &[], counters: &[(view::PERCENT_GOOD_PER_SEC, &[\"good rate\",\"ok/s\",]),]";
    assert!(index.contains(of_view), "{index}");
}

#[test]
fn committed_files_are_fresh() {
    let files = generate(&root()).unwrap();
    assert!(files.len() >= 7);
    assert!(stale(&root(), &files).unwrap().is_empty(), "refresh with: {}", super::REFRESH);
}

#[test]
fn summary_of_the_book() {
    let sets = [demo(GOOD).unwrap()];
    let text = "- [A](a.md)\n- [Sets](countersets/README.md)\n  - [Old](countersets/old.md)\n- [B](b.md)\n";
    let want = "- [A](a.md)\n- [Sets](countersets/README.md)\n  - [Demo Set](countersets/demo-set.md)\n- [B](b.md)\n";
    assert_eq!(pages::summary(text, &sets), want);
    assert_eq!(pages::summary(want, &sets), want);
}
