//! Groups of hosts that belong together: one answer covers all hosts that a tool needs. Services of
//! model vendors are in no group.

use crate::text::host;

/// A named group of hosts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// The hosts. One that begins with a dot stands for all names below it.
    hosts: &'static [&'static str],
}

impl Group {
    /// Returns whether a host belongs to the group.
    pub(super) fn has(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| match host.strip_prefix('.') {
            Some(domain) => name != domain && host::is_below(name, domain),
            None => *host == name,
        })
    }
}

/// Returns the group with a name.
pub(super) fn named(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

/// Returns the group that a host belongs to.
pub(super) fn of_host(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.has(name))
}

const fn group(name: &'static str, hosts: &'static [&'static str]) -> Group {
    Group { name, hosts }
}

/// All groups. No host belongs to two.
pub(crate) const GROUPS: &[Group] = &[
    group("npm", &["registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "npm.jsr.io", "jsr.io"]),
    group("pypi", &["pypi.org", "files.pythonhosted.org", "pypi.python.org"]),
    group("crates", &["crates.io", "index.crates.io", "static.crates.io"]),
    group("go", &["proxy.golang.org", "sum.golang.org", "go.dev", "golang.org"]),
    group("maven", &["repo.maven.apache.org", "repo1.maven.org", "central.sonatype.com", "maven.google.com"]),
    group(
        "gradle",
        &["services.gradle.org", "plugins.gradle.org", "downloads.gradle.org", "repo.gradle.org"],
    ),
    group("nuget", &["api.nuget.org", "www.nuget.org", "globalcdn.nuget.org"]),
    group("rubygems", &["rubygems.org", "index.rubygems.org", "bundler.rubygems.org"]),
    group("packagist", &["packagist.org", "repo.packagist.org", "getcomposer.org"]),
    group("hex", &["hex.pm", "repo.hex.pm", "builds.hex.pm"]),
    group("pub", &["pub.dev", "pub.dartlang.org"]),
    group(
        "conda",
        &["repo.anaconda.com", "conda.anaconda.org", "binstar-cio-packages-prod.s3.amazonaws.com"],
    ),
    group("debian", &["deb.debian.org", "security.debian.org", "ftp.debian.org", "snapshot.debian.org"]),
    group(
        "ubuntu",
        &["archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com", ".archive.ubuntu.com"],
    ),
    group("alpine", &["dl-cdn.alpinelinux.org"]),
    group("node", &["nodejs.org"]),
    group("python", &["www.python.org", "bootstrap.pypa.io"]),
    group("rustup", &["static.rust-lang.org", "sh.rustup.rs"]),
    group("playwright", &["cdn.playwright.dev", "playwright.download.prss.microsoft.com"]),
    group("terraform", &["registry.terraform.io", "releases.hashicorp.com", "checkpoint-api.hashicorp.com"]),
    group("huggingface", &["huggingface.co", ".huggingface.co", "cdn-lfs.hf.co", ".xethub.hf.co"]),
    group(
        "github",
        &[
            "github.com",
            "api.github.com",
            "codeload.github.com",
            "raw.githubusercontent.com",
            "objects.githubusercontent.com",
            "release-assets.githubusercontent.com",
        ],
    ),
    group("gitlab", &["gitlab.com", "registry.gitlab.com"]),
    group("bitbucket", &["bitbucket.org", "api.bitbucket.org"]),
    group("codeberg", &["codeberg.org"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_is_in_two_groups() {
        for (at, group) in GROUPS.iter().enumerate() {
            for host in group.hosts {
                let name = host.strip_prefix('.').map_or_else(|| (*host).to_owned(), |d| format!("x.{d}"));
                assert!(host::name(&name).is_some(), "{host}");
                let all: Vec<_> = GROUPS.iter().filter(|group| group.has(&name)).collect();
                assert_eq!(all, [&GROUPS[at]], "{host}");
            }
        }
    }
}
