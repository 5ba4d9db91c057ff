//! `sp_configure`, and procedures without effect here that clients and scripts still call.

use engine::error::{Error, Result};
use engine::instance::ConfiguredOption;
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{NAME, SystemProcedure, integer, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_configure",
    parameters: &[("@configname", NAME, false), ("@configvalue", SqlType::Int, false)],
    run: configure,
}];

/// Shows all settings, or one; or configures one, which says 15457.
fn configure(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let configuration = &context.instance.configuration;
    let shows_advanced = configuration.in_use("show advanced options") != 0;
    let mut settings: Vec<ConfiguredOption> = configuration.all();
    settings.retain(|setting| shows_advanced || !setting.option.advanced);
    settings.sort_by_key(|setting| setting.option.name);
    let Some(name) = text(arguments, 0) else {
        return show(host, &settings);
    };
    let folded = name.trim().to_lowercase();
    let exact = settings
        .iter()
        .filter(|setting| setting.option.name.to_lowercase() == folded);
    let mut found: Vec<ConfiguredOption> = exact.copied().collect();
    if found.is_empty() {
        found = settings
            .iter()
            .filter(|setting| setting.option.name.to_lowercase().contains(&folded))
            .copied()
            .collect();
    }
    let [setting] = found.as_slice() else {
        return Err(Error::no_such_option(name));
    };
    let Some(value) = integer(arguments, 1) else {
        return show(host, &found);
    };
    configuration.configure(setting.option.name, value)?;
    let text = format!(
        "Configuration option '{}' changed from {} to {value}. Run the RECONFIGURE statement to install.",
        setting.option.name, setting.configured
    );
    host.message(&Error::new(15457, 10, 1, text))?;
    Ok(0)
}

fn show(host: &mut dyn Host, settings: &[ConfiguredOption]) -> Result<i32> {
    let mut table = Table::new(&[
        ("name", SqlType::NVarChar(engine::types::Length::Limited(35))),
        ("minimum", SqlType::Int),
        ("maximum", SqlType::Int),
        ("config_value", SqlType::Int),
        ("run_value", SqlType::Int),
    ]);
    let number = |value: i64| Value::Int(i32::try_from(value).unwrap_or(i32::MAX));
    for setting in settings {
        let option = setting.option;
        let values = [option.minimum, option.maximum, setting.configured, setting.in_use].map(number);
        table.push([Value::from(option.name)].into_iter().chain(values).collect());
    }
    table.send(host).map(|()| 0)
}
