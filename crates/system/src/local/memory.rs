//! The memory of the control group that this process is in.

/// The memory of a control group, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// What it uses, without file caches that the kernel takes back when it needs them.
    pub used: u64,
    /// What it may use.
    pub limit: u64,
}

impl MemoryUse {
    /// Returns the part of the limit that is used, in percent, rounded up.
    pub fn percent(self) -> u64 {
        self.used.saturating_mul(100).div_ceil(self.limit.max(1))
    }
}

/// Returns the memory of the control group (version 2) that this process is in, or of the group
/// above it whose limit is the nearest; `None` if none is limited. Reads a few files of the kernel.
#[cfg(target_os = "linux")]
pub fn memory_use() -> Option<MemoryUse> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    of_group(std::path::Path::new("/sys/fs/cgroup"), group)
}

/// Returns `None`: there are no control groups here.
#[cfg(not(target_os = "linux"))]
pub fn memory_use() -> Option<MemoryUse> {
    None
}

/// Returns the memory of a group below `root` or of one above it.
#[cfg(target_os = "linux")]
fn of_group(root: &std::path::Path, group: &str) -> Option<MemoryUse> {
    let own = root.join(group);
    let groups = own.ancestors().take_while(|path| path.starts_with(root));
    groups.filter_map(read).max_by_key(|memory| memory.percent())
}

/// Reads the files of one group.
#[cfg(target_os = "linux")]
fn read(group: &std::path::Path) -> Option<MemoryUse> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    // It is the word `max` where there is no limit.
    let limit = number("memory.max")?;
    let cached = text("memory.stat").and_then(|stat| {
        let line = stat.lines().find_map(|line| line.strip_prefix("inactive_file "))?;
        line.trim().parse::<u64>().ok()
    });
    let used = number("memory.current")?.saturating_sub(cached.unwrap_or_default());
    Some(MemoryUse { used, limit })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_above_a_group_counts_and_caches_do_not() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, max: &str, current: u64, cached: u64| {
            let path = root.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("memory.max"), format!("{max}\n")).unwrap();
            std::fs::write(path.join("memory.current"), format!("{current}\n")).unwrap();
            let stat = format!("anon 1\ninactive_file {cached}\nactive_file 9\n");
            std::fs::write(path.join("memory.stat"), stat).unwrap();
        };
        assert_eq!(of_group(root.path(), "a/b"), None, "there are no files");
        group("a/b", "max", 70, 0);
        assert_eq!(of_group(root.path(), "a/b"), None, "there is no limit");
        group("a", "1000", 900, 250);
        let above = MemoryUse { used: 650, limit: 1000 };
        assert_eq!((of_group(root.path(), "a/b"), above.percent()), (Some(above), 65));
        group("a/b", "100", 70, 0);
        assert_eq!(of_group(root.path(), "a/b"), Some(MemoryUse { used: 70, limit: 100 }));
        assert_eq!(MemoryUse { used: 851, limit: 1000 }.percent(), 86);
    }
}
