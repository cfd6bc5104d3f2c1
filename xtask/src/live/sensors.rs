//! Check of the sensors of a simulated machine, with the metric names of node_exporter and beside a real one.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::{Folder, Running};
use super::prometheus::{free_address, get, serve};
use crate::repository::root;

/// Metrics of sensors in node_exporter that perfset does not have, as the guide says.
const OTHER_SENSORS: [&str; 3] =
    ["node_hwmon_power_", "node_hwmon_humidity", "node_hwmon_in_volts{chip=\"nct6775\",sensor=\"in5\"} -"];

/// Checks that the sensors of a machine made of files have the lines that node_exporter prints for the same files.
pub fn check() -> Result<String> {
    let folder = Folder::new("sensors")?;
    let sys = folder.0.join("sys");
    let fixture = root().join("testdata/linux/two-nodes/sys");
    finished(Command::new("cp").arg("-r").arg(fixture).arg(&sys).output()?)?;
    // Chips are named by the places of their devices; two disks have chips and sensors with the same names.
    for (chip, device) in [
        ("hwmon0", "devices/platform/coretemp.0"),
        ("hwmon11", "devices/pci0000:00/0000:00:01.0/nvme/nvme0"),
        ("hwmon12", "devices/pci0000:00/0000:00:02.0/nvme/nvme1"),
    ] {
        fs::create_dir_all(sys.join(device))?;
        symlink(sys.join(device), sys.join("class/hwmon").join(chip).join("device"))?;
    }
    let [own, other] = [free_address()?, free_address()?];
    let mut command = serve(own);
    command.args(["--profile", "node_exporter"]).env("PERFSET_SYS", &sys);
    let _own = Running(command.spawn().context("cannot start perfset")?);
    let mut command = Command::new("prometheus-node-exporter");
    command.args(["--collector.disable-defaults", "--collector.hwmon"]);
    command.arg(format!("--path.sysfs={}", sys.display())).arg(format!("--web.listen-address={other}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _other = Running(command.spawn().context("cannot start node_exporter")?);
    let lines = |address| -> Result<Vec<String>> {
        let text = get(address, "/metrics")?;
        let is_wanted = |line: &&str| {
            line.starts_with("node_hwmon_") && !OTHER_SENSORS.iter().any(|other| line.starts_with(other))
        };
        let mut lines: Vec<_> = text.lines().filter(is_wanted).map(str::to_owned).collect();
        lines.sort_unstable();
        Ok(lines)
    };
    let [own, other] = [lines(own)?, lines(other)?];
    ensure!(own == other, "perfset prints {own:#?}, node_exporter {other:#?}");
    ensure!(own.len() > 20, "they print {} lines", own.len());
    Ok(format!(": {} lines", own.len()))
}
