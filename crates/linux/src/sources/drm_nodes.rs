//! Names of the devices of the Direct Rendering Manager, in `/dev/dri` and `/sys/class/drm`.
//!
//! Source: the kernel's `Documentation/gpu/drm-uapi.rst`.

/// Device file of a graphics adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Device file `cardN`: the whole graphics adapter.
    Card(u32),
    /// Device file `renderDN`: only rendering on the graphics adapter.
    Render(u32),
}

/// Returns the device file of a graphics adapter with that name; `None` if the name belongs to something else, such
/// as a connector.
///
/// ```
/// use perfset_linux::sources::drm_nodes::{Node, node};
///
/// assert_eq!(node(b"card0"), Some(Node::Card(0)));
/// assert_eq!(node(b"renderD128"), Some(Node::Render(128)));
/// assert_eq!(node(b"card0-DP-1"), None);
/// ```
#[must_use]
pub fn node(name: &[u8]) -> Option<Node> {
    match name.strip_prefix(b"card") {
        Some(number) => super::processes::pid(number).map(Node::Card),
        None => super::processes::pid(name.strip_prefix(b"renderD")?).map(Node::Render),
    }
}

/// Returns the graphics device on which a file descriptor of a process is open, from the target of its link in
/// `/proc/PID/fd`.
///
/// ```
/// use perfset_linux::sources::drm_nodes::{Node, open_node};
///
/// assert_eq!(open_node(b"/dev/dri/renderD129"), Some(Node::Render(129)));
/// assert_eq!(open_node(b"socket:[4242]"), None);
/// ```
#[must_use]
pub fn open_node(target: &[u8]) -> Option<Node> {
    node(target.strip_prefix(b"/dev/dri/")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, want) in [
            ("card4294967295", Some(Node::Card(u32::MAX))),
            ("card", None),
            ("card4294967296", None),
            ("card-1", None),
            ("controlD64", None),
            ("renderD", None),
            ("renderd128", None),
            ("version", None),
            ("", None),
        ] {
            assert_eq!(node(name.as_bytes()), want, "{name:?}");
        }
        assert_eq!(open_node(b"/dev/dri/card1 (deleted)"), None);
        assert_eq!(open_node(b"/dev/dri/by-path/card1"), None);
    }
}
