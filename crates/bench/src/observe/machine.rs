//! The machine that sends the load, for the report.

use std::fs;

use forebay_results::Machine;

/// This machine: name, system, processor, cores, memory. What cannot be read is empty.
pub(crate) fn machine() -> Machine {
    let processors = read("/proc/cpuinfo");
    let release = read("/etc/os-release");
    Machine {
        name: read("/proc/sys/kernel/hostname"),
        system: system(&release, &read("/proc/sys/kernel/osrelease")),
        processor: processor(&processors),
        cores: cores(&processors),
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        ..Machine::default()
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The value of the first line `name: value` or `name=value`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once([':', '='])?;
        (key.trim() == name).then(|| value.trim().trim_matches('"'))
    })
}

fn system(release: &str, kernel: &str) -> String {
    match value(release, "PRETTY_NAME") {
        Some(name) => format!("{name}, Linux {kernel}"),
        None => format!("Linux {kernel}"),
    }
}

/// The model; kernels for ARM name it elsewhere or not at all.
fn processor(info: &str) -> String {
    let named = ["model name", "Model", "Hardware", "cpu model"];
    let known = named.iter().find_map(|name| value(info, name));
    known.unwrap_or(std::env::consts::ARCH).to_owned()
}

/// All cores of the machine, also those that this process may not use.
fn cores(info: &str) -> usize {
    let count = info
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    if count > 0 {
        return count;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn memory_bytes(info: &str) -> u64 {
    let kib = value(info, "MemTotal").and_then(|text| text.strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(0, |kib: u64| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_understood() {
        let info = "processor\t: 0\nmodel name\t: Some CPU: 3 GHz\nprocessor\t: 1\n";
        assert_eq!(processor(info), "Some CPU: 3 GHz");
        assert_eq!(cores(info), 2);
        assert_eq!(processor("processor: 0\n"), std::env::consts::ARCH);
        assert_eq!(memory_bytes("MemTotal:   2048 kB\n"), 2048 * 1024);
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n";
        assert_eq!(system(release, "6.1.0"), "Debian GNU/Linux 12, Linux 6.1.0");
        assert_eq!(system("", "6.1.0"), "Linux 6.1.0");
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let machine = machine();
        assert!(machine.cores > 0 && machine.memory_bytes > 0, "{machine:?}");
    }
}
