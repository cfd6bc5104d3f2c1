//! Names of exported files, directories and columns: safe in paths and in SQL, and different for different originals.

use std::collections::HashSet;

use perfset_catalogue::by_guid;
use perfset_core::Counterset;
use uuid::Uuid;

/// Maximum length in bytes of a path component that is made of a name. File systems allow 255.
const LONGEST: usize = 160;
/// Directory name of a Hive partition whose value is NULL.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Returns the name of a counterset as a part of file paths and as the name of its SQL view: characters `[a-z0-9_]`.
///
/// A counterset that is not in the catalogue has its GUID at the end, because any program can take any name.
#[must_use]
pub fn counterset_slug(set: &Counterset) -> String {
    match by_guid(set.guid) {
        Some(known) => slug(&known.name),
        None => {
            let mut name = slug(&set.name);
            name.truncate(LONGEST); // ASCII
            let guid = set.guid.to_string().replace('-', "").to_ascii_lowercase();
            format!("{name}_{guid}")
        }
    }
}

/// Returns a name in small ASCII letters and digits, with `_` for everything else. It can be empty.
pub(crate) fn slug(name: &str) -> String {
    let spelled = name.replace("I/O", "IO").replace('%', " percent ").replace('#', " number ");
    let spelled = spelled.replace("/sec", " per sec ").replace('/', " per ");
    let mut slug = String::new();
    for c in spelled.chars() {
        match c.is_ascii_alphanumeric() {
            true => slug.push(c.to_ascii_lowercase()),
            false if slug.is_empty() || slug.ends_with('_') => {}
            false => slug.push('_'),
        }
    }
    slug.truncate(slug.trim_end_matches('_').len());
    slug
}

/// Returns the name of a host as the value of a Hive partition: everything except ASCII letters, digits, `-`, `_` and
/// `.` is written as `%` and two digits, which engines convert back.
#[must_use]
pub fn host_partition(host: &str) -> String {
    if host.is_empty() {
        return NULL_PARTITION.to_owned();
    }
    let mut part = String::new();
    let last = host.len().saturating_sub(1);
    for (at, byte) in host.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric()
            || byte == b'-'
            // The name of the NULL partition is no host.
            || byte == b'_' && at > 0
            // `.`, `..`, hidden files, and ends that Windows removes.
            || byte == b'.' && at > 0 && at < last;
        match is_plain {
            true => part.push(byte.into()),
            false => part += &format!("%{byte:02X}"),
        }
    }
    if part.len() > LONGEST {
        let mut end = LONGEST;
        // No half of an escape.
        while part.get(..end).is_some_and(|cut| cut.rfind('%').is_some_and(|at| at.saturating_add(3) > end)) {
            end = end.saturating_sub(1);
        }
        part.truncate(end);
        // `~` is in no shorter name.
        part += &format!("~{:032x}", digest(host.as_bytes()));
    }
    part
}

/// Returns a digest (128-bit hash) of bytes, which is the same in every version of this library.
pub(crate) fn digest(bytes: &[u8]) -> u128 {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes).as_u128()
}

/// Names taken by the columns of one exported counterset, so that no two columns have the same name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnNames {
    taken: HashSet<String>,
}

impl ColumnNames {
    /// Names of the columns that every exported file has, and of the column `filename` that SQL engines add.
    pub const FIXED: [&str; 14] = [
        "time",
        "perf_time_ns",
        "interval_ns",
        "perf_time",
        "perf_freq",
        "time_100ns",
        "object_time",
        "object_freq",
        "instance",
        "instance_id",
        "birth",
        "missing",
        "restarted",
        "filename",
    ];
    /// Names of the columns that SQL engines make of the file's path.
    const PARTITIONS: [&str; 3] = ["counterset", "date", "host"];

    pub fn new() -> Self {
        Self { taken: Self::FIXED.iter().chain(&Self::PARTITIONS).map(|name| (*name).to_owned()).collect() }
    }

    /// Returns `name` for a column or, if another column has that name, the name with the counter's id.
    pub fn give(&mut self, name: &str, id: u32) -> String {
        let mut name = if name.is_empty() { "counter".to_owned() } else { name.to_owned() };
        name.truncate(LONGEST); // ASCII
        let mut given = name.clone();
        let mut number = id;
        while !self.taken.insert(given.clone()) {
            given = format!("{name}_{number}");
            number = number.wrapping_add(1);
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use perfset_core::{Guid, InstanceType};

    use super::*;

    #[test]
    fn slugs() {
        for (name, want) in [
            ("Block I/O", "block_io"),
            ("% Processor Time", "percent_processor_time"),
            ("Context Switches/sec", "context_switches_per_sec"),
            ("Avg. Disk sec/Read", "avg_disk_sec_per_read"),
            ("# of Exceps Thrown / sec", "number_of_exceps_thrown_per_sec"),
            ("../../etc", "per_per_etc"),
            ("", ""),
            ("\u{e4}\u{f6}", ""),
        ] {
            assert_eq!(slug(name), want, "{name}");
        }
    }

    #[test]
    fn countersets_have_directories_of_their_own() {
        let mut taken = HashSet::new();
        for set in perfset_catalogue::ALL {
            let slug = counterset_slug(set);
            assert!(!slug.is_empty() && !slug.contains("__"), "{slug}");
            assert!(taken.insert(slug), "{}", set.name);
        }
        // Programs that take the name of a known counterset, or no usable name.
        for (guid, name) in [(1, "Memory"), (2, "Memory"), (3, ""), (4, ".."), (5, "\u{0}/")] {
            let slug = counterset_slug(&Counterset::new(Guid::from_u128(guid), name, InstanceType::Single));
            assert!(slug.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'), "{slug}");
            assert!(taken.insert(slug), "{name}");
        }
    }

    #[test]
    fn hosts_have_directories_of_their_own() {
        let long = ["a".repeat(300), format!("{}b", "a".repeat(299)), "\u{20ac}".repeat(99)];
        let mut taken = HashSet::new();
        let names =
            ["web1", "", ".", "..", "...", "a/b", "a%2Fb", "a\\b", "a b", "a.", "_", "~", "A\u{0}", "-"];
        for host in names.into_iter().chain([NULL_PARTITION]).chain(long.iter().map(String::as_str)) {
            let part = host_partition(host);
            assert!(!part.starts_with('.') && !part.is_empty() && part.len() < 200, "{host:?}: {part}");
            assert!(part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.%~".contains(&c)), "{part}");
            assert!(taken.insert(part), "{host:?}");
        }
        assert_eq!(host_partition("web1.example.org"), "web1.example.org");
        assert_eq!(host_partition(".."), "%2E%2E");
        assert_eq!(host_partition(NULL_PARTITION), "%5F_HIVE_DEFAULT_PARTITION__");
    }

    #[test]
    fn columns_have_names_of_their_own() {
        let mut names = ColumnNames::new();
        assert_eq!(names.give("time", 7), "time_7");
        assert_eq!(names.give("time_7", 7), "time_7_7");
        assert_eq!(names.give("", 1), "counter");
        assert_eq!(names.give("x", 2), "x");
        assert_eq!(names.give("x", 2), "x_2");
        assert_eq!(names.give("x", 2), "x_3");
    }
}
