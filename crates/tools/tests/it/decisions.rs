use onyx_storage::Area;
use onyx_tools::{Policy, ToolSettings, Toolbox, decide};
use onyx_types::{
    Attendance, HomePath, Plan, PlanTarget, Taint, Target, Tier, ToolEffect, ToolName, Verdict,
};
use serde_json::Value;

use crate::support::{World, policy};

/// The whole decision table of core.md: the verdict for an attended run, by tier.
const TABLE: &str = "
    effect   target       taint      read   suggest  act
    read     note         clean      allow  allow    allow
    read     note         tainted    allow  allow    allow
    read     instruction  clean      allow  allow    allow
    read     instruction  tainted    allow  allow    allow
    write    note         clean      deny   draft    allow
    write    note         tainted    deny   draft    allow
    write    instruction  clean      deny   draft    allow
    write    instruction  tainted    deny   draft    confirm
    destroy  note         clean      deny   draft    confirm
    destroy  note         tainted    deny   draft    confirm
    destroy  instruction  clean      deny   draft    confirm
    destroy  instruction  tainted    deny   draft    confirm
    reach    note         clean      deny   draft    confirm
    reach    note         tainted    deny   draft    confirm
    reach    instruction  clean      deny   draft    confirm
    reach    instruction  tainted    deny   draft    confirm
    execute  note         clean      deny   draft    confirm
    execute  note         tainted    deny   draft    confirm
    execute  instruction  clean      deny   draft    confirm
    execute  instruction  tainted    deny   draft    confirm
";

const EFFECTS: [ToolEffect; 5] = [
    ToolEffect::Read,
    ToolEffect::Write,
    ToolEffect::Destroy,
    ToolEffect::Reach,
    ToolEffect::Execute,
];
const TIERS: [Tier; 3] = [Tier::Read, Tier::Suggest, Tier::Act];

fn plan(tool: &str, effects: &[ToolEffect], instruction: bool) -> Plan {
    let area = Area::Vault("ada".parse().unwrap());
    let target = Target::File(HomePath::new(format!("{}/a.md", area.path())));
    Plan {
        effects: effects.to_vec(),
        targets: vec![PlanTarget { target, base: None, instruction }],
        ..Plan::new(tool.parse::<ToolName>().unwrap(), Value::Null, ToolEffect::Read, "")
    }
}

fn tier(index: usize, toolbox: &Toolbox) -> Policy {
    policy(TIERS[index], toolbox)
}

#[tokio::test]
async fn the_gate_answers_as_the_table_says() {
    let world = World::new().await;
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|row| !row.is_empty())
        .skip(1)
        .collect();
    assert_eq!(rows.len(), EFFECTS.len() * 4);
    for row in &rows {
        let effect = *EFFECTS.iter().find(|effect| effect.as_str() == row[0]).unwrap();
        let taint = if row[2] == "tainted" { Taint::Tainted } else { Taint::Clean };
        let plan = plan("write_file", &[effect], row[1] == "instruction");
        for (index, expected) in row[3..].iter().enumerate() {
            let policy = tier(index, &world.toolbox);
            let verdict = decide(&policy, taint, Attendance::Attended, &plan);
            assert_eq!(verdict.as_str(), *expected, "{row:?} at {:?}", policy.tier());
        }
    }
}

#[tokio::test]
async fn with_nobody_to_ask_a_confirmation_becomes_a_draft_and_nothing_else_changes() {
    let world = World::new().await;
    for (index, effect) in (0..3).flat_map(|tier| EFFECTS.map(|effect| (tier, effect))) {
        for taint in [Taint::Clean, Taint::Tainted] {
            let policy = tier(index, &world.toolbox);
            let plan = plan("write_file", &[effect], true);
            let attended = decide(&policy, taint, Attendance::Attended, &plan);
            let unattended = decide(&policy, taint, Attendance::Unattended, &plan);
            let expected = if attended == Verdict::Confirm { Verdict::Draft } else { attended };
            assert_eq!(unattended, expected, "{effect:?} {taint:?} {policy:?}");
        }
    }
}

#[tokio::test]
async fn the_strictest_effect_of_a_plan_counts() {
    let world = World::new().await;
    let policy = policy(Tier::Act, &world.toolbox);
    let effects = [ToolEffect::Write, ToolEffect::Reach, ToolEffect::Read];
    let verdict =
        decide(&policy, Taint::Clean, Attendance::Attended, &plan("write_file", &effects, false));
    assert_eq!(verdict, Verdict::Confirm);
}

#[tokio::test]
async fn a_plan_that_names_no_effect_is_taken_for_the_strictest() {
    let world = World::new().await;
    let policy = policy(Tier::Act, &world.toolbox);
    let plan = plan("write_file", &[], false);
    assert_eq!(decide(&policy, Taint::Clean, Attendance::Attended, &plan), Verdict::Confirm);
}

#[tokio::test]
async fn a_tool_the_agent_does_not_have_is_denied_whatever_it_would_do() {
    let world = World::new().await;
    let settings = ToolSettings { deny: vec!["group:fs".into()], ..ToolSettings::default() };
    for tier in TIERS {
        let (policy, _) = Policy::resolve(tier, &settings, &world.toolbox.tools().known()).unwrap();
        for tool in ["read_file", "no_such_tool"] {
            let plan = plan(tool, &[ToolEffect::Read], false);
            assert_eq!(decide(&policy, Taint::Clean, Attendance::Attended, &plan), Verdict::Deny);
        }
    }
}
