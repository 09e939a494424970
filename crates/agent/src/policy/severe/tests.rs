use super::*;
use crate::policy::shell::{Dialect, parse};

/// Returns the highest severity of a line's commands.
fn gravest(line: &str) -> Option<Severity> {
    let found: Vec<_> = parse(line, Dialect::Bash).commands().iter().filter_map(of).collect();
    let denied = found.iter().find(|severity| matches!(severity, Severity::Denied(_)));
    denied.or(found.first()).copied()
}

#[test]
fn p11_what_is_denied_is_denied_in_any_spelling() {
    for line in [
        "rm -rf x",
        "rm -fr x",
        "rm -r -f x",
        "rm -f -R x",
        "rm --recursive x",
        "rm --recursiv x",
        "rm x -r",
        "/bin/rm -rf /",
        "sudo rm x",
        "\\rm -r x",
        "command rm -r x",
        "r''m -r x",
        "env rm -r x",
        "nice -n 5 rm -r x",
        "timeout 5 rm -rf x",
        "stdbuf -oL rm -r x",
        "busybox rm -r x",
        "sh -c 'rm -rf x'",
        "dash -c 'rm -rf x'",
        "bash -c \"rm -rf x\"",
        "find . -exec rm -r {} +",
        "find . -name x -execdir rm -fr {} ;",
        "xargs rm -r",
        "ls | xargs -0 rm -rf",
        "eval 'rm -rf x'",
        "watch rm -r x",
        "parallel rm -r ::: a b",
        "flock l rm -r x",
        "X=rm; $X -rf x",
        "trap 'rm -rf x' EXIT",
        "alias g=git\ng push --force",
        "env -S 'rm -rf x'",
        "timeout $T rm -rf x",
        "git reset --hard",
        "git reset -q --hard",
        "git reset --har",
        "git -C . reset --hard",
        "git --no-pager reset HEAD~1 --hard",
        "git -c a.b=c reset --hard",
        "git reset HEAD~1 --hard",
        "/usr/lib/git-core/git-reset --hard",
        "git clean -fd",
        "git clean -xfd",
        "git clean -fdx",
        "git clean -f -d",
        "git clean --force -d",
        "git clean -d --forc",
        "git clean -fX",
        "git push --force",
        "git push -f",
        "git push origin main --force",
        "git push --forc",
        "git push --force-with-lease",
        "git push -uf origin x",
        "git push origin +main",
        "git push --mirror",
        "git push --delete origin x",
        "git push origin :x",
        "git -C sub push -f",
        "git send-pack --force x",
        "git -c alias.p='push --force' p",
        "git -c ALIAS.p='reset --hard' p",
        "git submodule foreach 'git reset --hard'",
        "git submodule foreach git reset --hard",
        "git bisect run rm -r x",
        "git rebase -x 'rm -rf x' HEAD~2",
        "git -c core.pager='rm -rf x' log",
        "truncate -s 0 f",
        "truncate -s0 f",
        "truncate --size=0 f",
        "truncate --si 0 f",
        "truncate -cs0 f",
        "truncate -s 0K f",
        "truncate -s -5 f",
        "dd if=/dev/zero of=/dev/sda",
        "mkfs.ext4 /dev/sda",
        "mkfs -t ext4 x",
        "shred x",
        "chmod -R 777 .",
        "chmod 777 -R .",
        "chmod --recursive 0777 .",
        "chmod -R a+rwx .",
        "chmod -R ugo+rwx .",
        "chown -R me .",
        "chown me . -R",
        "chown --recursive me .",
        "docker system prune",
        "docker --context x system prune -f",
        "kubectl delete pod x",
        "kubectl -n x delete pod y",
    ] {
        assert!(
            gravest(line).is_some_and(|found| found != Severity::Publishes),
            "{line}: {:?}",
            gravest(line)
        );
    }
}

#[test]
fn p11_what_may_be_denied_is_no_more_than_a_question() {
    for line in [
        "git $(echo push)",
        "git $X",
        "ls | xargs git",
        "xargs rm",
        "git -c alias.p=push p",
        "git p",
        "git --what reset",
        "rm $X",
        "rm $X y",
        "rm \"$a\" \"$b\"",
        "rm *",
        "$X -rf y",
        "\"$X\" y",
        "bash -s",
        "echo 'rm -rf x' | sh",
        "eval \"$X\"",
        "bash -c \"$X\"",
        "bash -c '\"$@\"' _ rm -rf x",
        "git reset $X",
        "truncate $X f",
        "dd $X",
        "chmod 777 *",
        "npm $X",
        "chmod -R $M .",
    ] {
        let found = gravest(line);
        assert!(matches!(found, Some(Severity::Open(_) | Severity::Denied(_))), "{line}: {found:?}");
    }
}

#[test]
fn p11_publishing_and_history_are_told_in_any_spelling() {
    for line in [
        "git push",
        "git -C sub push origin main",
        "git push -u origin HEAD:x/y",
        "git lfs push origin main",
        "git subtree push --prefix=a/d b c",
        "nice git push",
    ] {
        assert_eq!(gravest(line), Some(Severity::Pushes), "{line}");
    }
    for line in [
        "git push https://h/x main",
        "git push git@h:x",
        "git push ../x main",
        "git push $REMOTE",
        "git push --repo=x",
        "git lfs push https://h/x",
        "git send-pack x",
        "git http-push x",
        "git send-email x",
        "npm publish",
        "npm --loglevel silent publish",
        "npm publ",
        "gh api x",
        "gh pr create",
        "gh pr merge 1",
        "docker build --push .",
        "docker buildx build --push .",
        "twine upload x",
    ] {
        assert_eq!(gravest(line), Some(Severity::Publishes), "{line}");
    }
    for line in [
        "git branch -D x",
        "git branch -v -D x",
        "git branch --delete --force x",
        "git branch -df x",
        "git reflog expire --all",
        "git stash drop",
        "git stash clear",
        "git gc --prune=now",
        "git prune",
        "git filter-branch x",
        "git update-ref -d x",
        "git checkout -f",
        "git switch --discard x",
        "git clean -f",
        "git tag -d v1",
        "git read-tree --reset -u x",
    ] {
        assert!(matches!(gravest(line), Some(Severity::History(_))), "{line}: {:?}", gravest(line));
    }
}

#[test]
fn everyday_commands_are_none_of_these() {
    for line in [
        "rm x",
        "rm -f a-r",
        "rm -f *.o",
        "rm -- -r",
        "rm \"$f\"",
        "rm -f \"$f\"",
        "git reset HEAD~1",
        "git reset --soft HEAD~1",
        "git clean -n",
        "git clean -nfd",
        "git commit -m \"$(cat x)\"",
        "git log $REF",
        "git diff \"$A\"..\"$B\"",
        "git checkout -b feat",
        "git checkout $B",
        "git branch -d x",
        "git branch -a",
        "git tag -a v1 -m done",
        "git stash",
        "git stash pop",
        "git fetch origin",
        "git -C x log",
        "git -c color.ui=never log",
        "git config --get user.name",
        "chmod +x a",
        "chmod 644 a",
        "chmod -R 755 a",
        "chown me a",
        "dd if=a",
        "truncate -s 100 f",
        "npm install access",
        "npm run build",
        "npm test",
        "cargo build",
        "docker build .",
        "gh pr view 1",
        "kubectl get pods",
        "find . -name '*.o' -exec rm {} +",
        "for f in a b; do echo $f; done",
        "bash x.sh",
        "sh -c 'ls'",
        "\"$HOME/.cargo/bin/cargo\" test",
        "$(npm bin)/eslint .",
        "ls | xargs grep x",
        "git status",
        "git",
        "git --version",
        "git submodule update",
        "NODE_ENV=test npm test",
        "echo rm -rf x",
        "grep 'rm -rf' x",
        "cat > x <<'E'\nrm -rf y\nE",
    ] {
        assert_eq!(gravest(line), None, "{line}");
    }
}
