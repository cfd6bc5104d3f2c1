//! Tests of generated code: compared with the stored code, and compiled.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfset_catalogue as catalogue;
use perfset_manifest::Manifest;
use perfset_manifest::generate::{GenerateError, c_header, rust, symbols};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn sample(name: &str) -> Manifest {
    Manifest::parse(&std::fs::read(repository("testdata/manifests").join(name)).unwrap()).unwrap()
}

/// Returns the built-in catalogue as manifests, one for each provider.
fn catalogue() -> Vec<Manifest> {
    let mut of_providers = std::collections::BTreeMap::<_, Vec<_>>::new();
    for set in catalogue::ALL {
        of_providers.entry(set.provider.guid).or_default().push((*set).clone());
    }
    of_providers.values().map(|sets| Manifest::export(sets).unwrap()).collect()
}

#[test]
fn generated_code_matches_snapshots() {
    let (waves, orders) = (sample("waves.man"), sample("orders.man"));
    for (name, text) in [
        ("waves.h", c_header(&waves, "")),
        ("waves.symbols.h", symbols(&waves, "")),
        ("waves.rs", rust(&waves, "")),
        ("orders.h", c_header(&orders, "Shop")),
        ("orders.rs", rust(&orders, "Shop")),
    ] {
        let (text, file) = (text.unwrap(), repository("testdata/manifests").join(name));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        for (is, want) in text.lines().zip(std::fs::read_to_string(&file).unwrap_or_default().lines()) {
            assert_eq!(is, want, "{name}: UPDATE_SNAPSHOTS=1 writes it anew");
        }
        assert_eq!(text.len(), std::fs::read(&file).unwrap_or_default().len(), "{name}");
    }
}

#[test]
fn unsupported_manifests_generate_no_code() {
    let driver = sample("driver.man");
    assert_eq!(c_header(&driver, ""), Err(GenerateError::Kernel));
    assert!(rust(&driver, "").unwrap().contains("pub level: Gauge32"));
    for bad in ["1x", "a-b", "é"] {
        for generate in [c_header, rust, symbols] {
            assert_eq!(generate(&driver, bad), Err(GenerateError::Prefix(bad.to_owned())));
        }
    }
    let mut waves = sample("waves.man");
    waves.provider.sets[0].symbol = "HarbourProvider".to_owned();
    assert_eq!(c_header(&waves, "X"), Err(GenerateError::Taken("XHarbourProviderGuid".to_owned())));
    waves.provider.sets[0].symbol = "in".to_owned();
    waves.provider.sets[0].counters[0].symbol = Some("int".to_owned());
    assert_eq!(c_header(&waves, ""), Err(GenerateError::Taken("int".to_owned())));
}

#[cfg(not(windows))]
/// Compiles a program of C or C++ with all warnings, and returns the compiler's messages, if there are any.
fn compiled(compiler: &str, options: &[&str], program: &str) -> Option<String> {
    let mut run = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .args(options)
        .arg("-")
        .current_dir(repository(""))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    run.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = run.wait_with_output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(not(windows))] // the compilers there take other options
/// Checks that C and C++ compilers accept both forms of CounterInitialize, before and after the includes of Windows
/// source.
#[test]
fn c_and_cxx_compilers_take_it() {
    let callback = c_header(&sample("waves.man"), "").unwrap();
    let plain = c_header(&sample("orders.man"), "Shop").unwrap();
    let catalogue: Vec<String> = catalogue().iter().map(|manifest| c_header(manifest, "").unwrap()).collect();
    let names =
        [symbols(&sample("waves.man"), "Their").unwrap(), symbols(&sample("orders.man"), "").unwrap()];
    let uses = "
static const GUID Set = THEIRWAVES_GUID;
const char *Name(void) { return Set.Data1 ? THEIRWAVES_NAME : ORDERS_NAME; }
int Id(void) { return THEIRWAVES_WAVE_PERIOD + ORDERS_STOCK; }
ULONG Start(void) { return CounterInitialize(NULL, NULL, NULL, NULL) + ShopCounterInitialize(); }
void Stop(void) { CounterCleanup(); ShopCounterCleanup(); }
ULONG More(void)
{
    PPERF_COUNTERSET_INSTANCE Buoy = PerfCreateInstance(HarbourProvider, &WavesGuid, NULL, BUOY_AGE);
    ULONG Size = ShopOrdersTemplate.Counters[0].Size;
    return PerfSetULongCounterValue(ShopOrdersProvider, Buoy, ORDERS_PER_SEC, Size);
}
";
    for windows in [false, true] {
        let head = if windows { "#include <windows.h>\n" } else { "" };
        let includes: &[&str] = if windows { &["-Iinclude/windows", "-Iinclude"] } else { &["-Iinclude"] };
        let programs = [[head, &callback, &plain, &names[0], &names[1], uses].concat()];
        let alone = catalogue.iter().map(|header| [head, header].concat());
        for program in programs.into_iter().chain(alone) {
            for (compiler, language) in [("cc", "-std=c11"), ("c++", "-std=c++11"), ("c++", "-std=c++20")] {
                let kind = if compiler == "cc" { "-xc" } else { "-xc++" };
                let said = compiled(compiler, &[includes, &[language, kind]].concat(), &program);
                assert_eq!(said, None, "{compiler} {language}, windows: {windows}");
            }
        }
    }
    // The test can fail.
    assert!(compiled("cc", &["-Iinclude", "-xc"], "#include <perflib.h>\nGUID x = 7;").is_some());
}

/// Checks that the Rust names of structs and fields are valid and unique for the whole catalogue.
#[test]
fn rust_has_good_names() {
    for manifest in catalogue() {
        let text = rust(&manifest, "").unwrap();
        let mut fields = std::collections::BTreeSet::new();
        for line in text.lines() {
            if line.starts_with("pub struct") {
                fields.clear();
            } else if let Some((name, _)) =
                line.strip_prefix("    pub ").and_then(|line| line.split_once(": "))
            {
                assert!(name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains("__"), "{line}");
                assert!(fields.insert(name.to_owned()), "{line}");
            }
        }
    }
}
