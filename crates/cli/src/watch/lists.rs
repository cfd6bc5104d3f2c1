//! Lists in braces of watched counter paths: each name in them is watched by a path of its own.

use perfset::path::CounterPath;

/// Splits each watched counter path with a list in braces into one path for each name. Such a name is expected to
/// exist, like a name without braces. Patterns stay together in braces, and may select nothing.
///
/// The first part of a path replaces it, and the other parts follow behind all paths: the places of paths have a
/// meaning.
pub fn split(paths: &mut Vec<CounterPath>) {
    let mut more = Vec::new();
    for path in &mut *paths {
        let counters = parts(&path.counter, true);
        let instances: Vec<Option<String>> = match &path.instance {
            Some(instance) => parts(instance, false).into_iter().map(Some).collect(),
            None => vec![None],
        };
        let mut all = instances.into_iter().flat_map(|instance| {
            let with = |counter: &String| CounterPath {
                machine: path.machine.clone(),
                counterset: path.counterset.clone(),
                instance: instance.clone(),
                counter: counter.clone(),
            };
            counters.iter().map(with).collect::<Vec<_>>()
        });
        let first = all.next();
        more.extend(all);
        if let Some(first) = first {
            *path = first;
        }
    }
    paths.append(&mut more);
}

/// Returns `true` if a counter path's text for counters or instances may select none or several. Such a text has
/// wildcards, or only exclusions.
pub fn is_pattern(text: &str) -> bool {
    match inside(text) {
        Some(inner) => {
            inner.contains(['*', '?']) || inner.split(',').all(|item| item.len() > 1 && item.starts_with('!'))
        }
        None => text.contains(['*', '?']) || text.len() > 1 && text.starts_with('!'),
    }
}

/// Returns the parts of a list in braces that together select the same: one for each name, and one for all patterns.
/// Exclusions apply to each.
fn parts(text: &str, is_counter: bool) -> Vec<String> {
    let Some(inner) = inside(text).filter(|inner| inner.contains(',')) else { return vec![text.to_owned()] };
    // A single `!` excludes nothing and is a name.
    let (unwanted, wanted): (Vec<&str>, Vec<&str>) =
        inner.split(',').partition(|item| item.len() > 1 && item.starts_with('!'));
    let (patterns, mut names): (Vec<&str>, Vec<&str>) =
        wanted.into_iter().partition(|item| item.contains(['*', '?']));
    // There is no exclusion of a number, so a numbered instance could be selected twice.
    if !patterns.is_empty() && names.iter().any(|name| name.contains('#')) {
        return vec![text.to_owned()];
    }
    names.sort_unstable_by_key(|name| name.to_lowercase());
    names.dedup_by_key(|name| name.to_lowercase());
    let list = |items: &[&str]| format!("{{{}}}", items.join(","));
    let mut parts: Vec<String> = Vec::new();
    for name in &names {
        // Without braces, `#` would begin the id of a counter; and of instances, only the first would be selected.
        let is_bare = is_counter && unwanted.is_empty() && !name.starts_with('#') && !name.is_empty();
        parts.push(if is_bare {
            (*name).to_owned()
        } else {
            list(&[&[*name][..], unwanted.as_slice()].concat())
        });
    }
    if !patterns.is_empty() || names.is_empty() {
        let named: Vec<String> = names.iter().map(|name| format!("!{name}")).collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        parts.push(list(&[patterns, named, unwanted].concat()));
    }
    parts
}

/// Returns the text between the braces of a list; `None` if the text is not in braces.
fn inside(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_of_their_own() {
        for (paths, want) in [
            (&[r"\S\{A,B}"][..], &[r"\S\A", r"\S\B"][..]),
            (&[r"\S\{B,a,b}"], &[r"\S\a", r"\S\B"]),
            (&[r"\S\{A}", r"\S\A", r"\S\A*"], &[r"\S\{A}", r"\S\A", r"\S\A*"]),
            (&[r"\S\{A,B*,?C}"], &[r"\S\A", r"\S\{B*,?C,!A}"]),
            (&[r"\S\{A,!B}"], &[r"\S\{A,!B}"]),
            (&[r"\S\{A,C*,!CB}"], &[r"\S\{A,!CB}", r"\S\{C*,!A,!CB}"]),
            (&[r"\S\{!A,!B}"], &[r"\S\{!A,!B}"]),
            (&[r"\S\{#1,A}"], &[r"\S\{#1}", r"\S\A"]),
            (&[r"\S({a,b})\C"], &[r"\S({a})\C", r"\S({b})\C"]),
            (&[r"\S({a,b*})\C"], &[r"\S({a})\C", r"\S({b*,!a})\C"]),
            (&[r"\S({a#1,a})\C"], &[r"\S({a})\C", r"\S({a#1})\C"]),
            (&[r"\S({a#1,a*})\C"], &[r"\S({a#1,a*})\C"]),
            (
                &[r"\S({a,b})\{C,D}", r"\T\E"],
                &[r"\S({a})\C", r"\T\E", r"\S({a})\D", r"\S({b})\C", r"\S({b})\D"],
            ),
        ] {
            let mut got: Vec<CounterPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
            split(&mut got);
            let got: Vec<_> = got.iter().map(ToString::to_string).collect();
            assert_eq!(got, want, "{paths:?}");
        }
    }

    #[test]
    fn patterns() {
        for (text, want) in [
            ("a", false),
            ("a*", true),
            ("?", true),
            ("!a", true),
            ("!", false),
            ("Wow!", false),
            ("{a}", false),
            ("{a,!b}", false),
            ("{a,b*}", true),
            ("{!a,!b}", true),
            ("{!}", false),
            ("{}", false),
            ("{", false),
            ("", false),
        ] {
            assert_eq!(is_pattern(text), want, "{text}");
        }
    }
}
