//! Permission of this thread to read protected data of a process.

/// Returns `true` if this thread may read data of a process that only its owner and privileged users may read, such
/// as its I/O. All rules of the kernel and its security modules apply.
///
/// Source: `get_robust_list(2)`, which requires the same permission (`PTRACE_MODE_READ`) as reading `/proc/PID/io`
/// and costs a twentieth. Opening that file also requires that this user owns it, or `CAP_DAC_READ_SEARCH`.
pub(crate) fn may_trace(pid: u32) -> bool {
    let Ok(pid) = libc::c_int::try_from(pid) else { return false };
    let mut list = std::ptr::null_mut::<libc::c_void>();
    let mut len: libc::size_t = 0;
    // SAFETY: both are places for what the call writes, an address that is not used and a length, and it keeps neither.
    #[expect(unsafe_code, reason = "no crate of ours in use has this call")]
    let failed = unsafe { libc::syscall(libc::SYS_get_robust_list, pid, &raw mut list, &raw mut len) };
    failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_the_file() {
        assert!(may_trace(std::process::id()));
        for pid in [0x7FFF_FFFF, u32::MAX] {
            assert!(!may_trace(pid), "{pid}");
        }
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let may = may_trace(pid);
            let read = std::fs::read(entry.path().join("io"));
            if read.as_ref().is_err_and(|error| error.kind() != std::io::ErrorKind::PermissionDenied) {
                continue; // it has ended
            }
            assert_eq!(may, read.is_ok(), "{pid}");
        }
    }
}
