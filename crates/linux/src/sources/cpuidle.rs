//! Idle states of a CPU, from `/sys/devices/system/cpu/cpuN/cpuidle/stateK`.
//!
//! Source: "CPU Idle Time Management" in the kernel's admin guide. `time` and `usage` are plain
//! [`attribute`](crate::sources::attribute)s, in microseconds and in stays.

use crate::sources::text::{Text, TextError};

/// Class of a CPU's idle state, as Windows counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleClass {
    /// The lightest idle state of the CPU.
    C1,
    /// Any idle state between the lightest and the deepest.
    C2,
    /// The deepest idle state of the CPU.
    C3,
}

/// Depth of a CPU's idle state, derived from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// State in which the CPU waits in a loop, which is no idle state in Windows.
    Polling,
    /// State in which the CPU halts, and does nothing else.
    Light,
    /// Any deeper idle state than a halt.
    Deep,
}

/// Returns the depth of an idle state, derived from the text of its `name`.
///
/// # Errors
/// If `text` is not one line.
pub fn depth(text: &[u8]) -> Result<Depth, TextError> {
    let mut text = Text::new(text);
    let name = text.line()?.to_ascii_lowercase();
    if !text.is_at_end() {
        return Err(text.expected("the end of the file"));
    }
    let light = match name.strip_prefix(b"c1") {
        Some(rest) => !rest.first().is_some_and(u8::is_ascii_digit), // C1, C1E, C1_ACPI, not C10
        None => name.starts_with(b"halt"),
    };
    Ok(match light {
        true => Depth::Light,
        false if name == b"poll" => Depth::Polling,
        false => Depth::Deep,
    })
}

/// Returns the classes of a CPU's idle states, which are ordered from the lightest to the deepest.
///
/// ```
/// use perfset_linux::sources::cpuidle::{Depth, IdleClass, classes};
///
/// let poll_c1_c6_c8 = [Depth::Polling, Depth::Light, Depth::Deep, Depth::Deep];
/// let want = [None, Some(IdleClass::C1), Some(IdleClass::C2), Some(IdleClass::C3)];
/// assert_eq!(classes(&poll_c1_c6_c8), want);
/// ```
#[must_use]
pub fn classes(depths: &[Depth]) -> Vec<Option<IdleClass>> {
    // Windows has no state below C3. The deepest one takes that place, whatever number its driver gives it.
    let deepest = depths.iter().rposition(|depth| *depth == Depth::Deep);
    let class = |(state, depth): (usize, &Depth)| match depth {
        Depth::Polling => None,
        Depth::Light => Some(IdleClass::C1),
        Depth::Deep if Some(state) == deepest => Some(IdleClass::C3),
        Depth::Deep => Some(IdleClass::C2),
    };
    depths.iter().enumerate().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_machines() {
        use IdleClass::{C1, C2, C3};
        type Case = (&'static str, &'static [&'static str], &'static [Option<IdleClass>]);
        let cases: [Case; 6] = [
            ("Intel server", &["POLL", "C1", "C1E", "C6"], &[None, Some(C1), Some(C1), Some(C3)]),
            (
                "Intel client",
                &["POLL", "C1_ACPI", "C2_ACPI", "C3_ACPI"],
                &[None, Some(C1), Some(C2), Some(C3)],
            ),
            ("C10 is not C1", &["POLL", "C1E", "C8", "C10"], &[None, Some(C1), Some(C2), Some(C3)]),
            ("virtual", &["POLL", "haltpoll"], &[None, Some(C1)]),
            ("halt", &["HALT"], &[Some(C1)]),
            ("none", &[], &[]),
        ];
        for (name, states, want) in cases {
            let depths: Vec<_> =
                states.iter().map(|state| depth(format!("{state}\n").as_bytes()).unwrap()).collect();
            assert_eq!(classes(&depths), want, "{name}");
        }
    }

    #[test]
    fn not_a_name() {
        assert_eq!(depth(b"C1").unwrap_err().found, "the end of the file");
        assert_eq!(depth(b"C1\nC2\n").unwrap_err().line, 2);
    }
}
