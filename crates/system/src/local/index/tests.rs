use super::testing::Project;
use super::*;
use std::fs;

#[test]
fn names_are_guarded_in_every_spelling_that_a_file_system_accepts() {
    let project = Project::new();
    project.write("sub/.GIT/config", "x");
    project.write("other/.Git", "x");
    let guarded = project.found().guarded;
    for file in ["sub/.GIT/config", "other/.Git"] {
        assert!(guarded.contains(&project.top.join(file)), "{file} is not among {guarded:?}");
    }
}

#[test]
fn secret_files_are_unknown_where_there_are_too_many_entries() {
    let project = Project::new();
    project.write("plan.txt", "x");
    project.write("other.txt", "x");
    let index = project.indexes.of(&project.sandbox);
    assert_eq!(index.scan_at_most(1), Err(TooMany));
    assert_eq!(index.scan_at_most(2).unwrap().secrets, [project.top.join("plan.txt")]);
}

#[test]
fn what_changes_is_found_without_reading_the_rest() {
    let project = Project::new();
    project.write("a/b/plan.txt", "x");
    project.write("c/other.txt", "x");
    assert_eq!(project.secrets(), ["a/b/plan.txt"]);
    project.write("c/d/e/plan.txt", "x");
    assert_eq!(project.secrets(), ["a/b/plan.txt", "c/d/e/plan.txt"]);
    // A directory that is moved takes what is below it along.
    project.rename("a", "c/moved");
    assert_eq!(project.secrets(), ["c/d/e/plan.txt", "c/moved/b/plan.txt"]);
    project.write("c/moved/b/new/plan.txt", "x");
    project.rename("c/d", "c/moved/b/d");
    let expected = ["c/moved/b/d/e/plan.txt", "c/moved/b/new/plan.txt", "c/moved/b/plan.txt"];
    assert_eq!(project.secrets(), expected);
    // A directory with the same name is another one.
    fs::remove_dir_all(project.top.join("c/moved").as_std()).unwrap();
    project.write("c/moved/b/later-plan.txt", "x");
    assert_eq!(project.secrets(), ["c/moved/b/later-plan.txt"]);
    fs::remove_dir_all(project.top.join("c").as_std()).unwrap();
    assert_eq!(project.secrets(), Vec::<String>::new());
}

#[test]
fn any_order_of_changes_leaves_what_a_fresh_index_finds() {
    let project = Project::new();
    let names = ["a", "b", "a/c", "b/c", "a/c/d", ".git", "a/.git"];
    // A fixed sequence of numbers, as random as needed.
    let mut state = 0x2545_f491_u64;
    let mut pick = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..400 {
        let (from, to) = (project.top.join(names[pick(7)]), project.top.join(names[pick(7)]));
        // Each of these may fail, which changes nothing.
        match pick(5) {
            0 => fs::create_dir_all(from.join("logs").as_std()).ok(),
            1 => fs::rename(from.as_std(), to.as_std()).ok(),
            2 => fs::remove_dir_all(from.as_std()).ok(),
            3 => fs::write(from.join("plan.txt").as_std(), "x").ok(),
            _ => fs::write(from.join(["HEAD", "config", "commondir"][pick(3)]).as_std(), "x").ok(),
        };
        if pick(3) == 0 {
            let sorted = |found: Found| {
                let mut all = [found.secrets, found.guarded, found.missing];
                all.iter_mut().for_each(|paths| paths.sort());
                all
            };
            let fresh = Indexes::default().of(&project.sandbox).scan().unwrap();
            assert_eq!(sorted(project.found()), sorted(fresh));
        }
    }
}

#[test]
fn other_names_of_a_hidden_file_are_found() {
    let mut project = Project::new();
    project.sandbox.secret.hide.clone_from(&project.sandbox.secret.patterns);
    project.write("a/plan.txt", "x");
    project.write("b/other.txt", "x");
    assert_eq!(project.secrets(), ["a/plan.txt"]);
    let link = |name: &str| project.top.join(name).as_std().to_owned();
    fs::hard_link(link("a/plan.txt"), link("b/same.txt")).unwrap();
    assert_eq!(project.secrets(), ["a/plan.txt", "b/same.txt"]);
}
