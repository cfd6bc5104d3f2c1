//! Checks of the installed C library: with programs of every language standard, under sanitizers, and beside other
//! programs.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result, anyhow, ensure};

use super::{Load, finished, median, perfset};
use crate::install::{BuiltLibraries, install, install_built};
use crate::progress::Progress;
use crate::repository::{output_of, root, target};

/// Compilers, and the language standards with which the C library is tested.
const DIALECTS: [(&str, &str); 10] = [
    ("gcc", "c11"),
    ("clang", "c11"),
    ("g++", "c++11"),
    ("g++", "c++14"),
    ("g++", "c++17"),
    ("g++", "c++20"),
    ("clang++", "c++11"),
    ("clang++", "c++14"),
    ("clang++", "c++17"),
    ("clang++", "c++20"),
];

/// Names and compiler options of both sizes of `wchar_t`.
const MODES: [(&str, &[&str]); 2] = [("native", &[]), ("short", &["-fshort-wchar"])];

/// Sources of the C tests, and the pkg-config package that each is built with.
const SUITES: [(&str, &str); 5] = [
    ("suite.c", "perflib"),
    ("suite_life.c", "perflib"),
    ("suite_provider.c", "perflib"),
    ("suite_v1.c", "perflib-windows"),
    ("shim.c", "perflib-windows"),
];

fn folder() -> PathBuf {
    target().join("live-c")
}

/// `true` if the checks use the C library in the form in which packages ship it.
pub static IS_SHIPPED: AtomicBool = AtomicBool::new(false);

/// Returns the directory of the installed C library. The first check that needs it installs it into an empty
/// directory.
fn prefix() -> Result<PathBuf> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = || -> Result<PathBuf> {
        if folder().exists() {
            std::fs::remove_dir_all(folder())?;
        }
        let prefix = folder().join("prefix");
        if IS_SHIPPED.load(Relaxed) {
            install(&prefix)?;
            return Ok(prefix);
        }
        // Compiled with the command, so that their crates are compiled once.
        let built = |name: &str| target().join("release").join(name);
        let built = BuiltLibraries { shared: built("libperflib.so"), archive: built("libperflib.a") };
        install_built(&prefix, &built, &mut Progress::new(3))?;
        Ok(prefix)
    };
    let installed = INSTALLED.get_or_init(|| install().map_err(|error| format!("{error:#}")));
    installed.clone().map_err(|error| anyhow!("the library cannot be installed: {error}"))
}

/// Returns the path of a source file of the crate `perflib`.
fn source(path: &str) -> PathBuf {
    root().join("crates/perflib").join(path)
}

/// Returns the flags that pkg-config prints for an installed package.
fn flags(package: &str, what: &[&str]) -> Result<Vec<String>> {
    let mut ask = Command::new("pkg-config");
    ask.args(what).arg(package).env("PKG_CONFIG_PATH", prefix()?.join("lib/pkgconfig"));
    let answer = output_of(&mut ask).context("is Debian's pkg-config installed?")?;
    Ok(answer.split_whitespace().map(str::to_owned).collect())
}

/// Compiles and links a test program; the compiler's output is shown only if it fails.
fn build(compiler: &str, args: &[&str], sources: &[PathBuf], package: &str, program: &Path) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(["-g", "-pthread", "-Wall", "-Wextra"]).args(args).args(sources);
    command.args(flags(package, &["--cflags", "--libs"])?).arg("-o").arg(program);
    output_of(&mut command).with_context(|| format!("{compiler} {args:?} {sources:?}")).map(|_| ())
}

/// Returns a command that runs a test program with the installed C library.
fn start(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", folder().join("prefix/lib")).stdin(Stdio::null());
    command
}

/// Installs the C library, and checks its files and symbols as a packager does.
pub fn installed() -> Result<String> {
    let library = prefix()?.join("lib/libperflib.so.0");
    let dynamic = output_of(Command::new("readelf").args(["-d", "-W"]).arg(&library))?;
    let quoted = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
    let lines = |tag: &str| -> BTreeSet<String> {
        dynamic.lines().filter(|line| line.contains(tag)).filter_map(quoted).collect()
    };
    ensure!(lines("(SONAME)").into_iter().eq(["libperflib.so.0"]), "its soname is {:?}", lines("(SONAME)"));
    for needed in lines("(NEEDED)") {
        let is_basic =
            ["libc.so.", "libm.so.", "libgcc_s.so.", "ld-linux"].iter().any(|name| needed.starts_with(name));
        ensure!(is_basic, "it needs {needed}");
    }
    let symbols = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(&library))?;
    let mut exported = 0;
    for symbol in symbols.lines().filter_map(|line| line.split_whitespace().nth(2)) {
        ensure!(symbol.starts_with("Perf") || symbol.starts_with("perflib_"), "it exports {symbol}");
        exported += 1;
    }

    // As a package: shared, static, by CMake.
    let list = [source("examples/list_countersets.c")];
    let program = folder().join("list");
    build("cc", &["-std=c11", "-Werror"], &list, "perflib", &program)?;
    let shared = finished(start(&program).output()?)?;
    ensure!(shared.contains("Processor Information"), "it prints {shared}");
    let mut link = Command::new("cc");
    link.arg("-static").arg(&list[0]).args(flags("perflib", &["--static", "--cflags", "--libs"])?);
    output_of(link.arg("-o").arg(&program))?;
    let alone = finished(Command::new(&program).env_remove("LD_LIBRARY_PATH").output()?)?;
    ensure!(sets(&alone).eq(sets(&shared)), "as a static program it prints {alone}");
    let archive = prefix()?.join("lib/libperflib.a");
    let symbols = output_of(Command::new("nm").args(["-g", "--defined-only"]).arg(archive))?;
    for symbol in symbols.lines().filter_map(|line| line.split_whitespace().nth(2)) {
        ensure!(
            ["Perf", "perflib_", "DW.ref."].iter().any(|own| symbol.starts_with(own)),
            "the archive has {symbol}"
        );
    }
    cmake()?;
    more_rights(&program, &alone)?;
    Ok(format!(": {exported} symbols"))
}

/// Returns the lines that the example `list_countersets.c` printed, without the number of instances, which changes.
fn sets(printed: &str) -> impl Iterator<Item = Vec<&str>> {
    printed.lines().map(|line| {
        let words = line.split_whitespace().enumerate();
        words.filter(|(at, _)| *at != 1).map(|(_, word)| word).collect()
    })
}

/// Checks that the environment does not lead a set-user-ID program of the C library to files other than the kernel's.
fn more_rights(program: &Path, usual: &str) -> Result<()> {
    const NOBODY: u32 = 65_534;
    let elsewhere = |program: &Path| -> Result<String> {
        let nowhere = folder().join("nowhere");
        let output =
            Command::new(program).env("PERFSET_PROC", &nowhere).env("PERFSET_SYS", &nowhere).output();
        Ok(String::from_utf8_lossy(&output?.stdout).into_owned())
    };
    // Of processors: instances of others come and go.
    let processors = |printed: &str| {
        printed.lines().find(|line| line.ends_with("Processor Information")).map(str::to_owned)
    };
    let usual = processors(usual);
    ensure!(processors(&elsewhere(program)?) != usual, "PERFSET_PROC has no effect");
    let set_user_id = folder().join("list-set-user-id");
    std::fs::copy(program, &set_user_id)?;
    chown(&set_user_id, Some(NOBODY), None).context("only root can make a program of another user")?;
    std::fs::set_permissions(&set_user_id, Permissions::from_mode(0o4755))?;
    let printed = elsewhere(&set_user_id);
    std::fs::remove_file(&set_user_id)?;
    ensure!(processors(&printed?) == usual, "a set-user-ID program follows PERFSET_PROC");
    Ok(())
}

/// Builds a CMake project that uses both targets of the installed C library.
fn cmake() -> Result<()> {
    let (project, built) = (folder().join("cmake"), folder().join("cmake-build"));
    std::fs::create_dir_all(&project)?;
    let lists = format!(
        "cmake_minimum_required(VERSION 3.13)
project(consumer C CXX)
find_package(perflib 0.1 REQUIRED)
add_executable(list {list})
target_link_libraries(list perflib::perflib)
add_executable(list_static {list})
target_link_libraries(list_static perflib::perflib_static)
add_executable(names {names})
target_compile_definitions(names PRIVATE UNICODE)
target_link_libraries(names perflib::windows)
",
        list = source("examples/list_countersets.c").display(),
        names = source("tests/windows/names/ObjectNames.cpp").display(),
    );
    std::fs::write(project.join("CMakeLists.txt"), lists)?;
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&built);
    output_of(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix()?.display())))?;
    output_of(Command::new("cmake").arg("--build").arg(&built))?;
    for (program, word) in [("list", "Processor"), ("list_static", "Processor"), ("names", "_Total")] {
        let printed = finished(start(&built.join(program)).output()?)?;
        ensure!(printed.contains(word), "{program}, built by CMake, prints {printed}");
    }
    Ok(())
}

/// Checks that each C header compiles without a warning, alone and with others, in every dialect. With `full`, each
/// dialect has both sizes of `wchar_t`, otherwise they take turns.
pub fn headers(full: bool) -> Result<String> {
    let includes = flags("perflib-windows", &["--cflags"])?;
    let (ours, shim): (Vec<_>, Vec<_>) = (
        ["perflib.h", "winperf.h", "perflib_types.h", "perflib_symbols.h"].map(str::to_owned).to_vec(),
        std::fs::read_dir(prefix()?.join("include/perflib-windows"))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect(),
    );
    let mut checked = 0;
    for (turn, (compiler, standard)) in DIALECTS.into_iter().enumerate() {
        let turn = turn % MODES.len();
        let modes = if full { &MODES[..] } else { &MODES[turn..=turn] };
        for (mode, mode_flags) in modes.iter().copied() {
            // One translation unit a header, all in one run of the compiler.
            let mut sources = Vec::new();
            let extension = if standard.starts_with("c++") { "cpp" } else { "c" };
            let together: Vec<String> = ["windows.h", "winperf.h", "perflib.h"].map(str::to_owned).to_vec();
            let is_known = |header: &&String| header.ends_with(".h") || extension == "cpp";
            let alone = ours.iter().chain(&shim).filter(is_known).map(|header| vec![header.clone()]);
            for headers in alone.chain([together.clone(), together.into_iter().rev().collect()]) {
                let file = folder().join(format!("header-{}.{extension}", sources.len()));
                let twice = headers.iter().chain(&headers);
                let text: String = twice.map(|header| format!("#include <{header}>\n")).collect();
                std::fs::write(&file, text + "typedef int not_empty;\n")?;
                sources.push(file);
            }
            checked += sources.len();
            let mut command = Command::new(compiler);
            command.arg(format!("-std={standard}")).args(mode_flags).args(&includes);
            command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(&sources);
            output_of(&mut command).with_context(|| format!("{compiler} -std={standard}, {mode} wchar_t"))?;
        }
    }
    Ok(format!(": {checked} translation units"))
}

/// Runs the tests of the C library with every size of names, under AddressSanitizer and UBSan, and once under
/// valgrind. With `full`, every compiler takes every size, otherwise they take turns.
pub fn suites(full: bool) -> Result<String> {
    const UTF16: &[&str] = &["-DPERFLIB_WCHAR_SIZE=2"];
    let mut checks = 0;
    let mut runs = 0;
    // Countersets that other checks publish would come and go between two calls that a suite compares.
    let published = folder().join("published");
    let mut run = |command: &mut Command, what: &str| -> Result<()> {
        let output = command
            .env("PERFSET_RUNTIME_DIR", &published)
            .output()
            .with_context(|| format!("cannot start {what}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{what}: {}\n{said}", output.status);
        let printed = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = printed.lines().last().unwrap_or_default().split_whitespace().collect();
        let passed: Option<u64> = match *words {
            [_, passed, "checks", "passed"] => passed.parse().ok(),
            _ => None,
        };
        checks += passed.with_context(|| format!("{what} ends with {words:?}"))?;
        runs += 1;
        Ok(())
    };
    for (at, (suite, package)) in SUITES.into_iter().enumerate() {
        let sources = [source("tests/c").join(suite)];
        let utf16 = (package == "perflib").then_some(("UTF-16 without -fshort-wchar", UTF16));
        for (turn, (mode, mode_flags)) in MODES.into_iter().chain(utf16).enumerate() {
            let compilers = [("gcc", "-std=c11"), ("clang", "-std=c11"), ("g++", "-std=c++17")];
            // Each suite in each mode; the compilers take turns, so that each of them meets each mode.
            let turn = at.wrapping_add(turn) % compilers.len();
            let compilers = if full { &compilers[..] } else { &compilers[turn..=turn] };
            for (compiler, language) in compilers.iter().copied() {
                let what = format!("{suite}, {compiler} {language}, {mode}");
                let program = folder().join("suite");
                let language = if compiler == "g++" { vec![language, "-xc++"] } else { vec![language] };
                let mut args = [&language[..], mode_flags, &["-Werror", "-O1"]].concat();
                args.extend(["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]);
                build(compiler, &args, &sources, package, &program).with_context(|| what.clone())?;
                run(start(&program).env("UBSAN_OPTIONS", "print_stacktrace=1"), &what)?;
            }
        }
        let (program, what) = (folder().join("plain"), format!("{suite} under valgrind"));
        build("gcc", &["-std=c11", "-O1"], &sources, package, &program)?;
        run(&mut start(&program), &format!("{suite} as it is"))?;
        let program = folder().join("quick");
        let repeats: &[&str] = if full { &[] } else { &["-DQUICK"] };
        build("gcc", &[&["-std=c11", "-O1"], repeats].concat(), &sources, package, &program)?;
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=99", "--child-silent-after-fork=yes"]);
        // Else threads that never wait can keep all others from running, until a child's alarm ends it.
        valgrind.arg("--fair-sched=yes");
        if matches!(suite, "suite.c" | "shim.c") {
            // The others fork while threads work: what those had is lost in the child.
            valgrind.args(["--leak-check=full", "--errors-for-leak-kinds=definite"]);
        }
        run(valgrind.arg(&program).env("LD_LIBRARY_PATH", prefix()?.join("lib")), &what)?;
    }
    Ok(format!(": {checks} checks in {runs} runs"))
}

/// Checks that C programs read a recording as the command does, in every size of names, and nothing else without a
/// recording.
pub fn recording() -> Result<String> {
    let log = folder().join("recording.perfset");
    let prefix = prefix()?;
    let _ = std::fs::remove_file(&log); // of an earlier run
    let mut record = perfset();
    record.args(["record", "cpu", "mem", "100ms", "10", "-o"]).arg(&log);
    finished(record.output()?)?;
    let mut get = perfset();
    get.args(["get", r"\Memory\Available Bytes", "--raw", "--format", "json", "--log"]).arg(&log);
    let row =
        |line: &str| -> Option<u64> { serde_json::from_str::<serde_json::Value>(line).ok()?["raw"].as_u64() };
    let wanted: Vec<_> = finished(get.output()?)?.lines().filter_map(row).collect();
    ensure!(wanted.len() == 10, "the command reads {wanted:?}");
    let program = folder().join("suite-log");
    for (mode, flags) in MODES.into_iter().chain([("UTF-16", &["-DPERFLIB_WCHAR_SIZE=2"][..])]) {
        let args = [&["-std=c11", "-Werror", "-O1"], flags].concat();
        build("gcc", &args, &[source("tests/c/suite_log.c")], "perflib", &program)?;
        let run = |log: &Path, argument: &[&str]| -> Result<String> {
            let mut command = Command::new(&program);
            command.env("LD_LIBRARY_PATH", prefix.join("lib")).env("PERFSET_LOG", log).args(argument);
            finished(command.output()?).with_context(|| format!("{mode}, {argument:?}"))
        };
        let printed = run(&log, &[])?;
        let value = |line: &str| line.strip_prefix("sample ")?.split_whitespace().nth(1)?.parse::<u64>().ok();
        let read: Vec<_> = printed.lines().filter_map(value).collect();
        ensure!(read == wanted, "{mode}: C reads {read:?}, the command {wanted:?}");
        run(&folder().join("no such file"), &["nothing"])?;
    }
    Ok(format!(": {} samples are equal", wanted.len()))
}

/// Checks that programs from Microsoft's documents build unchanged with the C library in every dialect of C++.
pub fn windows_source() -> Result<String> {
    let mut built = 0;
    for (compiler, standard) in DIALECTS {
        for (mode, mode_flags) in MODES {
            let standard = format!("-std={standard}");
            let args = [&[&*standard], mode_flags].concat();
            let program = folder().join(format!("windows-{compiler}{standard}-{mode}"));
            let what = || format!("{compiler} {standard}, {mode} wchar_t");
            let is_c = !standard.contains("++");
            if is_c {
                let sources = [source("tests/windows/names/CounterValues.c")];
                let args = [&args[..], &["-DUNICODE"]].concat();
                build(compiler, &args, &sources, "perflib-windows", &program).with_context(what)?;
                let printed = finished(start(&program).output()?)?;
                ensure!(printed.contains('%'), "{}: it prints {printed}", what());
            } else {
                build(compiler, &args, &cpu_sources(), "perflib-windows", &program).with_context(what)?;
            }
            let language: &[&str] = if is_c { &[] } else { &["-xc++"] };
            let args = [&args[..], &["-DUNICODE"], language].concat();
            let worker = [source("tests/windows/provider/Worker.c")];
            build(compiler, &args, &worker, "perflib-windows", &program).with_context(what)?;
            let mut run = start(&program);
            let printed = finished(run.env("PERFSET_RUNTIME_DIR", folder().join("published")).output()?)?;
            ensure!(printed.ends_with("0 left of 250\n"), "{}: it prints {printed}", what());
            std::fs::remove_file(&program)?;
            built += 2;
        }
    }
    Ok(format!(": {built} programs"))
}

fn cpu_sources() -> [PathBuf; 2] {
    ["CpuPerfCounters.cpp", "CpuPerfCountersConsumer.cpp"].map(|name| source("tests/windows/cpu").join(name))
}

/// Compares the output of a C program for Windows, with both sizes of `wchar_t`, with mpstat over the same ten
/// seconds.
pub fn cpu_perf_counters() -> Result<String> {
    const SECONDS: &str = "10";
    for (mode, mode_flags) in MODES {
        let program = folder().join(format!("cpu-{mode}"));
        build("g++", mode_flags, &cpu_sources(), "perflib-windows", &program)?;
    }
    let load = Load::start();
    let mut programs = Vec::new();
    for (mode, _) in MODES {
        let mut program = start(&folder().join(format!("cpu-{mode}")));
        programs.push((mode, program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?));
    }
    let mut mpstat = Command::new("mpstat");
    mpstat.args([SECONDS, "1"]).env("LC_ALL", "C");
    let theirs = output_of(&mut mpstat).context("is Debian's sysstat installed?")?;
    let average =
        theirs.lines().find(|line| line.starts_with("Average:")).context("mpstat has no average")?;
    let cells: Vec<&str> = average.split_whitespace().collect();
    // CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle: idle includes waiting, as on Windows.
    let number = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
    let idle = number(11).zip(number(5)).map(|(idle, waiting)| idle + waiting);
    let busy = 100.0 - idle.with_context(|| format!("mpstat prints {average:?}"))?;
    drop(load);
    let mut figures = format!(": mpstat {busy:.1} %");
    for (mode, program) in programs {
        let printed = finished(program.wait_with_output()?)?;
        let total = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [percent, "_Total/_Total"] => percent.strip_suffix('%')?.parse::<f64>().ok(),
            _ => None,
        };
        let totals: Vec<f64> = printed.lines().filter_map(total).collect();
        ensure!(totals.len() >= 9, "{mode}: it prints {printed}");
        let mean = totals.iter().sum::<f64>() / totals.len() as f64;
        ensure!((mean - busy).abs() <= 2.0, "{mode}: {mean:.2} % busy, mpstat {busy:.2} %");
        figures += &format!(", {mode} {mean:.1} %");
    }
    Ok(figures)
}

/// Checks that a V1 consumer prints the names of this machine's objects, the same with both sizes of `wchar_t`.
pub fn object_names() -> Result<String> {
    let (block, table) = (folder().join("global.bin"), folder().join("names.bin"));
    // A machine whose instances neither come nor go.
    let machine = root().join("testdata/linux/small-vm");
    // Nor do published countersets, such as the recorder's, come from other checks.
    let published = folder().join("published");
    let roots = [
        ("PERFSET_PROC", machine.join("proc")),
        ("PERFSET_SYS", machine.join("sys")),
        ("PERFSET_RUNTIME_DIR", published),
    ];
    let mut query = perfset();
    query.args(["v1", "query", "Global", "-o"]).arg(&block).arg("--names").arg(&table);
    finished(query.envs(roots.clone()).output()?)?;
    let names = finished(perfset().args(["v1", "names"]).arg(&block).arg("--names").arg(&table).output()?)?;
    let word = |line: &str, at: usize| line.split_whitespace().nth(at).map(str::to_owned);
    let objects = names.lines().filter(|line| word(line, 1).as_deref() == Some("object"));
    let instances = names.lines().filter(|line| word(line, 1).as_deref() == Some("instance"));
    let mut wanted: BTreeSet<String> = instances.filter_map(|line| word(line, 2)).collect();
    for line in objects {
        let name = line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
        let name = name.split(", ").next().unwrap_or_default().to_owned();
        wanted.insert(name);
    }
    wanted.insert("% Processor Time".to_owned());
    let mut outputs = BTreeSet::new();
    for (mode, mode_flags) in MODES {
        let program = folder().join(format!("names-{mode}"));
        let args = [&["-DUNICODE"], mode_flags].concat();
        build("g++", &args, &[source("tests/windows/names/ObjectNames.cpp")], "perflib-windows", &program)?;
        let printed = finished(start(&program).envs(roots.clone()).output()?)?;
        for name in &wanted {
            ensure!(printed.contains(name.as_str()), "{mode}: {name:?} is not in {printed}");
        }
        outputs.insert(printed);
    }
    ensure!(outputs.len() == 1, "the two modes print different things: {outputs:?}");
    Ok(format!(": {} names", wanted.len()))
}

/// Checks that the examples of the C library build without a warning and print the same as the command.
pub fn examples() -> Result<String> {
    let program = folder().join("example");
    let mut differences = Vec::new();
    build("clang", &["-std=c11", "-Werror"], &[source("examples/processor_time.c")], "perflib", &program)?;
    let load = Load::start();
    for _ in 0..3 {
        let mut ours = perfset();
        ours.args(["get", r"\Processor Information(_Total)\% Processor Time", "2", "2", "--format", "json"]);
        let ours = ours.spawn().context("cannot start perfset")?;
        let printed = finished(start(&program).args(["2", "2"]).output()?)?;
        let ours = finished(ours.wait_with_output()?)?;
        let value = |text: &str| -> Option<f64> {
            let line: serde_json::Value = serde_json::from_str(text.lines().last()?).ok()?;
            line["value"].as_f64()
        };
        let theirs = printed.lines().rev().find(|line| line.contains("_Total"));
        let cell = |cell: &str| cell.trim_end_matches('%').parse::<f64>().ok();
        let theirs = theirs.and_then(|line| line.split_whitespace().find_map(cell));
        let (ours, theirs) = value(&ours).zip(theirs).with_context(|| format!("{ours} {printed}"))?;
        differences.push((ours - theirs).abs());
    }
    drop(load);
    let typical = median(differences);
    ensure!(typical <= 3.0, "processor_time.c differs from the command by {typical:.1} points");

    build("g++", &["-std=c++17", "-Werror"], &[source("examples/wildcard.cpp")], "perflib", &program)?;
    let processor = "b4fc721a-0378-476f-89ba-a5a79f810b36";
    let printed = finished(start(&program).args([processor, "0"]).output()?)?;
    ensure!(printed.contains("_Total") && printed.contains("0,0"), "wildcard.cpp prints {printed}");
    Ok(format!(": {typical:.2} points from the command"))
}
