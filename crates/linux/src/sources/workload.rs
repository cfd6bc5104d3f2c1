//! Units of systemd and containers, derived from the paths of control groups.
//!
//! Source: the paths that the programs make, in `testdata/cgroup-paths`. There is no common rule: each container
//! runtime has its own names, which also depend on whether it or systemd makes the groups.

/// Unit, container and pod that the path of a control group names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Innermost systemd unit of the process that is no slice: a service or a scope.
    pub unit: Option<String>,
    /// Innermost container that the path of the control group names.
    pub container: Option<Container>,
    /// UID of the process's Kubernetes pod.
    pub pod: Option<String>,
}

/// Container that a process runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Program that runs the container, if the path of the control group names it.
    pub runtime: Option<&'static str>,
    /// Whole id of the container, or its name.
    pub id: String,
}

impl Container {
    /// Number of digits of a container id that users see, as in the output of container programs.
    const SHOWN: usize = 12;

    /// Returns the text for users about a container: the runtime, and the name or the first digits of the id.
    #[must_use]
    pub fn shown(&self) -> String {
        let id = if is_hex(&self.id) { self.id.get(..Self::SHOWN).unwrap_or(&self.id) } else { &self.id };
        match self.runtime {
            Some(runtime) => format!("{runtime} {id}"),
            None => id.to_owned(),
        }
    }
}

/// Prefixes in the names of container scopes and groups, each with the program that makes them.
const RUNTIMES: [(&str, &str); 6] = [
    ("docker", "docker"),
    ("libpod", "podman"),
    ("cri-containerd", "containerd"),
    ("nerdctl", "containerd"),
    ("crio", "cri-o"),
    ("buildkit", "buildkit"),
];

impl Workload {
    /// Finds unit, container and pod in the path of a control group.
    ///
    /// ```
    /// use perfset_linux::sources::workload::Workload;
    ///
    /// let of_service = Workload::from_path("/system.slice/nginx.service");
    /// assert_eq!(of_service.unit.as_deref(), Some("nginx.service"));
    /// ```
    #[must_use]
    pub fn from_path(path: &str) -> Self {
        let mut workload = Self::default();
        let mut parent = "";
        // The kernel's remark on a group of version 2 that was removed, which still has an ended process.
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        for group in path.split('/').filter(|group| !group.is_empty()) {
            // runc without its systemd driver uses the names that it would pass to systemd: SLICE:PREFIX:ID.
            let parts: Vec<_> = group.split(':').collect();
            if let (true, [slice, prefix, id]) = (group.contains(".slice:"), parts.as_slice()) {
                workload.take(slice, parent);
                if is_id(id) {
                    let container = Container { runtime: runtime(prefix), id: (*id).to_owned() };
                    (workload.container, workload.unit) = (Some(container), None);
                }
            } else {
                workload.take(group, parent);
            }
            parent = group;
        }
        workload
    }

    /// Stores the unit, container or pod that one control group of the path names.
    fn take(&mut self, group: &str, parent: &str) {
        if let Some(uid) = pod(group, parent) {
            self.pod = Some(uid);
        } else if let Some(container) = container(group, parent) {
            // The unit around a container is that of the runtime.
            (self.container, self.unit) = (Some(container), None);
        } else if let Some(name) =
            group.strip_prefix("systemd-nspawn@").and_then(|rest| rest.strip_suffix(".service"))
        {
            (self.container, self.unit) =
                (Some(Container { runtime: Some("nspawn"), id: name.to_owned() }), None);
        } else if group.ends_with(".service") || group.ends_with(".scope") {
            self.unit = Some(group.to_owned());
        }
    }
}

/// Returns the UID of the Kubernetes pod that a control group belongs to, from the group's name.
fn pod(group: &str, parent: &str) -> Option<String> {
    let uid = match group.strip_suffix(".slice") {
        Some(slice) => slice.rsplit_once("-pod").filter(|(before, _)| before.contains("kubepods"))?.1,
        None => {
            let is_inside =
                parent == "kubepods" || matches!(parent, "burstable" | "besteffort" | "guaranteed");
            group.strip_prefix("pod").filter(|_| is_inside)?
        }
    };
    // A dash in the name of a slice would be a parent slice.
    let uid = uid.replace('_', "-");
    let digits = uid.chars().filter(|c| *c != '-').count();
    (digits == 32 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-')).then_some(uid)
}

/// Returns the container that a control group stands for, from the names of the group and its parent.
fn container(group: &str, parent: &str) -> Option<Container> {
    let named = |runtime, id: &str| Some(Container { runtime, id: id.to_owned() });
    if let Some(name) = group.strip_prefix("lxc.payload.").filter(|name| !name.is_empty()) {
        return named(Some("lxc"), name);
    }
    if matches!(parent, "lxc" | "lxc.payload") {
        return named(Some("lxc"), group);
    }
    let bare = group.strip_suffix(".scope").unwrap_or(group);
    match bare.rsplit_once('-') {
        Some((prefix, id)) if is_id(id) => named(Some(runtime(prefix)?), id),
        None if is_id(bare) && bare.len() == group.len() => named(runtime(parent), bare),
        _ => None,
    }
}

/// Returns the container runtime that makes control groups with this prefix, or inside a control group of this name.
fn runtime(prefix: &str) -> Option<&'static str> {
    RUNTIMES.iter().find(|(known, _)| *known == prefix).map(|(_, runtime)| *runtime)
}

/// Returns `true` for the id of a container: 64 hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::sources::pid::cgroup;

    /// Returns the captured lines of `/proc/PID/cgroup`, each with its unit, container and pod.
    fn captured() -> Vec<[String; 4]> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cgroup-paths/paths.tsv");
        let text = fs::read_to_string(file).unwrap();
        let row = |line: &str| {
            let cells: Vec<_> = line.split('\t').map(str::to_owned).collect();
            <[String; 4]>::try_from(cells).unwrap()
        };
        text.lines().filter(|line| !line.starts_with('#')).skip(1).map(row).collect()
    }

    #[test]
    fn captured_paths() {
        let rows = captured();
        assert!(rows.len() > 12, "{rows:?}");
        for [line, unit, container, pod] in rows {
            let line = format!("{line}\n");
            let path = std::str::from_utf8(cgroup::path(line.as_bytes()).unwrap()).unwrap();
            let workload = Workload::from_path(path);
            let got = [
                workload.unit.unwrap_or_default(),
                workload.container.map(|container| container.shown()).unwrap_or_default(),
                workload.pod.unwrap_or_default(),
            ];
            assert_eq!(got, [unit, container, pod], "{line}");
        }
    }

    /// Checks that a name chosen by a user looks like a container at most in a directory in which a runtime puts
    /// containers.
    #[test]
    fn names_of_users() {
        let id = "0123456789abcdef".repeat(4);
        for (path, unit, container) in [
            ("/", None, None),
            ("", None, None),
            ("/a//b/", None, None),
            ("/system.slice/docker.service", Some("docker.service"), None),
            ("/system.slice/docker-0123.scope", Some("docker-0123.scope"), None),
            (&format!("/system.slice/mine-{id}.scope"), Some(&*format!("mine-{id}.scope")), None),
            (&format!("/docker/{id}"), None, Some("docker 0123456789ab")),
            (&format!("/{id}"), None, Some("0123456789ab")),
            (&format!("/{id}x"), None, None),
            ("/lxc.payload.", None, None),
            ("/lxc/web/init.scope", Some("init.scope"), Some("lxc web")),
            ("/machine.slice/systemd-nspawn@db.service/payload", None, Some("nspawn db")),
            ("/system.slice/dbus-:1.3-org.x@0.service", Some("dbus-:1.3-org.x@0.service"), None),
            (&format!("/a.slice:other:{id}"), None, Some("0123456789ab")),
            ("/a.slice:docker:short", None, None),
            ("/system.slice/a.service (deleted)", Some("a.service"), None),
            (&format!("/docker/{id} (deleted)"), None, Some("docker 0123456789ab")),
            ("/a.service (deleted)/b", None, None),
            (" (deleted)", None, None),
            ("/kubepods/podx", None, None),
            ("/x-pod0123.slice", None, None),
            ("/a\u{1b}[2J.service", Some("a\u{1b}[2J.service"), None),
        ] {
            let got = Workload::from_path(path);
            assert_eq!(got.unit.as_deref(), unit, "{path}");
            assert_eq!(got.container.map(|one| one.shown()).as_deref(), container, "{path}");
            assert_eq!(got.pod, None, "{path}");
        }
    }

    #[test]
    fn no_path_panics() {
        for [line, ..] in captured() {
            for (at, _) in line.char_indices() {
                let _ = Workload::from_path(&line[..at]); // any workload will do
                for change in ["/", ":", "-", ".slice:", "é", ""] {
                    let _ = Workload::from_path(&format!("{}{change}{}", &line[..at], &line[at..])); // as above
                }
            }
        }
    }
}
