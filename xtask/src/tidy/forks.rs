//! Check of statics with locks in the crates of the C library, whose functions forked processes call, too.

use std::path::{Path, PathBuf};

use super::Problem;

/// Names of the crates that are not part of the C library on Linux.
const OTHERS: [&str; 5] = ["cli", "parquet", "tui", "web", "windows"];
/// Names of Rust types that lock. `Once` stands for `Once`, `OnceLock` and their like.
const LOCKS: [&str; 5] = ["Mutex", "RwLock", "Once", "LazyLock", "Condvar"];

/// Returns the statics with locks whose comment does not state why no forked process waits for the lock for ever.
pub fn unexplained_locks(sources: &[(PathBuf, String)]) -> Vec<Problem> {
    sources
        .iter()
        .filter(|(path, _)| is_in_library(path))
        .flat_map(|(path, text)| check(path, text))
        .collect()
}

fn is_in_library(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let [crates, of, src, .., last] = &parts[..] else { return false };
    let is_test = of.ends_with("-test") || last == "tests.rs" || parts.iter().any(|part| part == "tests");
    crates == "crates" && src == "src" && !is_test && !OTHERS.contains(&&**of)
}

fn check(path: &Path, text: &str) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| *line != "mod tests {").collect();
    let mut problems = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut words = line.split_whitespace();
        let is_static = words.any(|word| word == "static") && !line.starts_with("//");
        let kind = line.split_once(": ").map_or("", |(_, kind)| kind.split(" = ").next().unwrap_or_default());
        // `PerProcess` has a value for each process, and `OnceBox` no lock.
        let locks = !kind.starts_with("PerProcess<") && !kind.contains("OnceBox");
        if !(is_static && locks && LOCKS.iter().any(|lock| kind.contains(lock))) {
            continue;
        }
        let above = lines.get(..at).unwrap_or_default().iter().rev();
        let mut comment = above.take_while(|line| line.starts_with("//") || line.starts_with("#["));
        if !comment.any(|line| line.contains("fork")) {
            let what = "has a lock, and a process forked while it is held waits for ever: use PerProcess, or explain \
                        above it what a forked process finds";
            problems.push(Problem::new(path, Some(at + 1), what));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Option<usize>> {
        let problems = unexplained_locks(&[(path.into(), text.to_owned())]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn statics_with_locks_are_explained() {
        for kind in ["Mutex<u8>", "RwLock<A>", "Once", "OnceLock<A>", "std::sync::LazyLock<A>"] {
            let bad = format!("/// Counts.\npub(crate) static A: {kind} = new();\n");
            assert_eq!(found("crates/shm/src/a.rs", &bad), [Some(2)], "{kind}");
            assert_eq!(found("crates/cli/src/a.rs", &bad), []);
            assert_eq!(found("crates/faults-test/src/a.rs", &bad), []);
            assert_eq!(found("crates/shm/tests/a.rs", &bad), []);
            assert_eq!(found("crates/shm/src/a.rs", &format!("mod tests {{\n{bad}")), []);
            let explained =
                format!("/// A forked process has that of its parent.\nstatic A: {kind} = new();\n");
            assert_eq!(found("crates/shm/src/a.rs", &explained), []);
        }
        let good = [
            "static A: PerProcess<Mutex<u8>> = new();",
            "static A: OnceBox<A> = new();",
            "a: &'static Mutex<u8>",
        ];
        for text in good {
            assert_eq!(found("crates/shm/src/a.rs", text), [], "{text}");
        }
    }
}
