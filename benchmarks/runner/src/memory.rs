//! The memory of processes, read from outside. Linux only; elsewhere nothing is known.

use std::fs;

const MB: f64 = 1e6;

/// The most memory that a process has had resident (VmHWM), in MB.
pub(crate) fn peak_mb(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    kib_line(&status, "VmHWM:").map(|kib| kib * 1_024.0 / MB)
}

/// The memory that a process and its children have now, what they share counted once
/// (the sum of Pss), in MB.
pub(crate) fn tree_mb(root: u32) -> Option<f64> {
    let mut pids = children(root);
    pids.push(root);
    let shares = pids.iter().filter_map(|pid| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        kib_line(&rollup, "Pss:")
    });
    let kib: f64 = shares.sum();
    (kib > 0.0).then_some(kib * 1_024.0 / MB)
}

fn children(of: u32) -> Vec<u32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent(pid) == Some(of)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

fn kib_line(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read() {
        let text = "VmPeak:\t  10 kB\nVmHWM:\t    7480 kB\n";
        assert_eq!(kib_line(text, "VmHWM:"), Some(7_480.0));
        assert_eq!(kib_line(text, "VmRSS:"), None);
    }
}
