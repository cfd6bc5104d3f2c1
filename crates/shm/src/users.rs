//! Names of the system's user groups, for messages.

use std::fs::File;
use std::io::Read;

/// Returns the name of a group from `/etc/group`; groups of other databases are not found.
pub(crate) fn group_name(group: u32) -> Option<String> {
    const MOST_BYTES: u64 = 1 << 20;
    let mut text = Vec::new();
    File::open("/etc/group").ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    name_in(&String::from_utf8_lossy(&text), group)
}

fn name_in(text: &str, group: u32) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(group) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups() {
        let text = "root:x:0:\nbad\n:x:7:\nperfset:x:998:alice,bob\nperf:x:99:\n";
        for (group, name) in
            [(0, Some("root")), (998, Some("perfset")), (99, Some("perf")), (7, None), (8, None)]
        {
            assert_eq!(name_in(text, group).as_deref(), name, "{group}");
        }
    }
}
