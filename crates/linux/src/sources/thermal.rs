//! Types of the cooling devices in `/sys/class/thermal`.
//!
//! Source: "Generic Thermal Sysfs driver How To" in the kernel's driver API guide.

/// Returns `true` if a cooling device of type `kind` slows processors. Fans, and devices that slow something else, do
/// not.
///
/// ```
/// use perfset_linux::sources::thermal::slows_processors;
///
/// assert!(slows_processors(b"Processor") && slows_processors(b"cpufreq-cpu4"));
/// assert!(!slows_processors(b"Fan"));
/// ```
#[must_use]
pub fn slows_processors(kind: &[u8]) -> bool {
    const TYPES: [&[u8]; 6] =
        [b"Processor", b"cpufreq-", b"thermal-cpufreq-", b"cpuidle-", b"thermal-idle-", b"intel_powerclamp"];
    // Drivers append a number, or the name of a CPU.
    TYPES.iter().any(|begin| kind.starts_with(begin))
}
