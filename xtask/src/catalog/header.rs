//! Generator of the C header with GUIDs and counter ids.

use super::notice;
use super::set::Set;

/// Returns the text of the C header `perflib_symbols.h`.
pub fn symbols(sets: &[Set]) -> String {
    let sets: String = sets.iter().map(counterset).collect();
    format!(
        "/* {notice}; change that instead.
 *
 * GUIDs, English names and counter ids of the built-in countersets, for programs that name them in their source:
 *
 *     static const GUID Set = PERFLIB_PROCESSOR_INFORMATION_GUID;
 *     Identifier.CounterId = PERFLIB_PROCESSOR_INFORMATION_PERCENT_PROCESSOR_TIME;
 *     const WCHAR *Name = L\"\" PERFLIB_PROCESSOR_INFORMATION_NAME;
 *
 * C11 or C++11. Needs no other header; a GUID is an initialiser for the type that the program has, and a name is a
 * narrow literal, which L\"\" or u\"\" before it makes wide.
 */
#ifndef PERFLIB_SYMBOLS_H
#define PERFLIB_SYMBOLS_H
{sets}
#endif
",
        notice = notice(""),
    )
}

fn counterset(set: &Set) -> String {
    let prefix = prefix(set);
    let ids = set.entry.counters.iter().map(|counter| {
        let unit = if counter.unit.is_empty() { String::new() } else { format!(", unit {}", &*counter.unit) };
        let about = format!("{}: {}{unit}", counter.label(), counter.counter_type.name);
        format!("    /* {about} */\n    {prefix}_{} = {},\n", counter.symbol(), counter.id)
    });
    let ids: String = ids.collect();
    let (a, b, c, rest) = set.guid.as_fields();
    let rest = rest.map(|byte| format!("0x{byte:02x}")).join(", ");
    format!(
        "
/* {name}: {{{guid}}} */
#define {prefix}_GUID \\
    {{ 0x{a:08x}, 0x{b:04x}, 0x{c:04x}, {{ {rest} }} }}
#define {prefix}_NAME {name:?}

enum {{
{ids}}};
",
        name = &*set.entry.name,
        guid = set.guid,
        ids = ids.strip_suffix(",\n").map_or(ids.clone(), |ids| format!("{ids}\n")),
    )
}

/// Returns the prefix of a counterset's names in the C header.
pub fn prefix(set: &Set) -> String {
    format!("PERFLIB_{}", set.module().to_ascii_uppercase())
}
