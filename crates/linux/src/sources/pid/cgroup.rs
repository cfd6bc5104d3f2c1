//! Parser of `/proc/PID/cgroup`: the control groups that a process is in.
//!
//! Source: `cgroups(7)`. A line has the number of a hierarchy, its controllers and the path of the group. Version 2
//! has number 0 and no controllers.

use crate::sources::text::{Text, TextError};

/// Returns the path of the control group that says most about a process: the group that systemd put it in, else that
/// of version 2, else that of a controller of version 1. The path is `/` only if the process is in no group of any
/// hierarchy.
///
/// ```
/// use perfset_linux::sources::pid::cgroup::path;
///
/// assert_eq!(path(b"0::/system.slice/nginx.service\n").unwrap(), b"/system.slice/nginx.service");
/// assert_eq!(path(b"4:memory:/app\n1:name=systemd:/\n0::/\n").unwrap(), b"/app");
/// ```
///
/// # Errors
/// If a line is not as documented, or if there is none.
pub fn path(text: &[u8]) -> Result<&[u8], TextError> {
    let mut text = Text::new(text);
    let mut best: Option<(u8, &[u8])> = None;
    while best.is_none() || !text.is_at_end() {
        let before = text;
        let mut parts = text.line()?.splitn(3, |byte| *byte == b':');
        let number =
            parts.next().filter(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit));
        let (Some(number), Some(controllers), Some(path @ [b'/', ..])) = (number, parts.next(), parts.next())
        else {
            return Err(before.expected("NUMBER:CONTROLLERS:/PATH"));
        };
        let rank = match (number, controllers, path) {
            (_, _, b"/") => 0,
            (_, b"name=systemd", _) => 3,
            (b"0", b"", _) => 2,
            _ => 1,
        };
        if best.is_none_or(|(known, _)| known < rank) {
            best = Some((rank, path));
        }
    }
    Ok(best.map(|(_, path)| path).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (text, want) in [
            ("0::/\n", Ok("/")),
            ("0::/a/b\n", Ok("/a/b")),
            ("9:name=systemd:/\n4:memory:/x\n0::/\n", Ok("/x")),
            ("4:memory:/x\n1:name=systemd:/user.slice\n0::/y\n", Ok("/user.slice")),
            ("4:memory:/x\n1:name=systemd:/\n0::/y\n", Ok("/y")),
            ("3:cpu,cpuacct:/a\n4:memory:/b\n", Ok("/a")),
            ("0::/a.slice:cri-containerd:1\n", Ok("/a.slice:cri-containerd:1")),
            ("0::/../../x\n", Ok("/../../x")),
            ("", Err(1)),
            ("0::/a", Err(1)),
            ("0::\n", Err(1)),
            ("0::a\n", Err(1)),
            ("0:/a\n", Err(1)),
            ("x::/a\n", Err(1)),
            ("::/a\n", Err(1)),
            ("0::/a\n\n", Err(2)),
        ] {
            let got = path(text.as_bytes()).map_err(|error| error.line);
            assert_eq!(got, want.map(str::as_bytes), "{text:?}");
        }
    }
}
