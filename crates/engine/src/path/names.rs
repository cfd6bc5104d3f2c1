//! Suggestions for mistyped names of counters and countersets.

use perfset_core::utf16::upper;

/// Returns the names most similar to a text, best first: at most `most`, and none that differs from the text by more
/// than half of the name's length.
///
/// A name that contains the text is nearer than any name with another spelling.
#[must_use]
pub fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = folded(text);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let other = folded(name);
            let contains = !wanted.is_empty() && other.windows(wanted.len()).any(|part| part == wanted);
            let distance = if contains { 0 } else { distance(&wanted, &other) };
            (distance <= other.len().wrapping_div(2)).then_some((distance, name))
        })
        .collect();
    near.sort_by_key(|(distance, name)| (*distance, name.len()));
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

pub(super) fn folded(text: &str) -> Vec<u16> {
    // Longer than any name, and bounded because the cost is quadratic and the text is untrusted input.
    const MOST: usize = 200;
    text.encode_utf16().map(upper).take(MOST).collect()
}

/// Returns the edit distance of two texts: the number of UTF-16 units to insert, delete or change, or of neighbours to
/// swap (optimal string alignment).
pub(super) fn distance(a: &[u16], b: &[u16]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut a_before = None;
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i.saturating_add(1)];
        let mut b_before = None;
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX);
            let next = j.saturating_add(1);
            let mut least = at(&last, next).saturating_add(1);
            least = least.min(at(&row, j).saturating_add(1));
            least = least.min(at(&last, j).saturating_add(usize::from(x != y)));
            if let (Some(previous), true, true) = (j.checked_sub(1), a_before == Some(y), b_before == Some(x))
            {
                least = least.min(at(&before, previous).saturating_add(1));
            }
            row.push(least);
            b_before = Some(y);
        }
        before = std::mem::replace(&mut last, row);
        a_before = Some(x);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, want) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("memory", "memory", 0),
            ("memroy", "memory", 1),
            ("procesor", "processor", 1),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            assert_eq!(distance(&units(a), &units(b)), want, "{a} {b}");
            assert_eq!(distance(&units(b), &units(a)), want, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_come_first() {
        let names = ["Memory", "Processor", "Processor Information", "Process V2", "System"];
        assert_eq!(nearest("Procesor Information", names, 2), ["Processor Information"]);
        assert_eq!(nearest("procesor", names, 2), ["Processor", "Process V2"]);
        assert_eq!(nearest("INFO", names, 3), ["Processor Information"]);
        assert_eq!(nearest("xyzzy", names, 3), [""; 0]);
        assert_eq!(nearest("", names, 3), [""; 0]);
        assert_eq!(nearest(&"x".repeat(1_000_000), names, 3), [""; 0]);
    }
}
