//! Tests of registered countersets: enumeration, registration requests, instances, names of machines.

use super::*;
use crate::perflib;
use crate::source::local_machine;

#[test]
fn enumeration_is_ascending() {
    let (machine, _) = machine();
    let mut want = vec![SINGLE, MULTI, own::GUID];
    want.sort();
    assert_eq!(machine.countersets(), want);
    assert_eq!(machine.origin(&MULTI).unwrap(), "Script");
    assert_eq!(machine.origin(&own::GUID).unwrap(), "perfset");
    assert!(machine.countersets().windows(2).all(|pair| pair[0].to_wire() < pair[1].to_wire()), "R-12");
}

#[test]
fn a_guid_belongs_to_who_came_first() {
    let (machine, _) = machine();
    let mut intruder = set(MULTI, InstanceType::Single);
    intruder.provider.name = "Intruder".into();
    machine.register(Box::new(Scripted::new(vec![intruder])));
    assert_eq!(machine.counterset(&MULTI).unwrap().instance_type, InstanceType::Multiple);
    let problems: Vec<_> = machine.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems, [format!("counterset {MULTI} of \"Intruder\" belongs to \"Scripted\"")]);
}

#[test]
fn registration_requests() {
    let mut translated = set(MULTI, InstanceType::Multiple);
    translated.help = "Help of the set".into();
    translated.counters.to_mut()[1].help = "Help of 3".into();
    let french = |language, name: &'static str| Translation {
        language: Language(language),
        name: name.into(),
        help: Text::default(),
        counters: vec![(CounterId(3), "Événements/s".into(), Text::default())].into(),
    };
    translated.translations = vec![french(0x0C0C, "Jeu (Canada)"), french(0x040C, "Jeu")].into();
    let (machine, _) = machine_with(vec![translated, set(SINGLE, InstanceType::Single)]);
    let ask = |guid: &Guid, code, language| perflib::registration_info(&machine, guid, code, language);
    let text = |code, language| {
        let bytes: Vec<u8> = ask(&MULTI, code, language)?;
        Ok::<_, Status>(Name::until_nul(&bytes).to_string())
    };
    let texts = |code, language| {
        let bytes: Vec<u8> = ask(&MULTI, code, language)?;
        let block = v2::strings::StringBlock::parse(&bytes).unwrap();
        let one = |(id, name): (CounterId, Result<Option<Name<'_>>, _>)| {
            (id.0, name.unwrap().map(|name| name.to_string()).unwrap_or_default())
        };
        Ok::<_, Status>(block.iter().map(one).collect::<Vec<_>>())
    };
    let owned = |names: [(u32, &str); 4]| Ok(names.map(|(id, name)| (id, name.to_string())).to_vec());
    let english = owned([(7, "Total"), (3, "Events/sec"), (5, "Mean"), (9, "")]);
    let french = owned([(7, "Total"), (3, "Événements/s"), (5, "Mean"), (9, "")]);

    let info = ask(&MULTI, 1, 99).unwrap();
    let info = v2::registration::RegistrationInfo::parse(&info).unwrap();
    let ids: Vec<_> = info.counters().map(|c| c.unwrap().id().0).collect();
    assert_eq!((info.guid(), info.instance_type(), ids), (MULTI, InstanceType::Multiple, vec![7, 3, 5, 9]));
    let one = ask(&MULTI, 2, 5).unwrap();
    let one = v2::registration::CounterInfo::parse(&one).unwrap();
    assert_eq!((one.id(), one.base()), (CounterId(5), Some(CounterId(9))));
    assert_eq!(ask(&MULTI, 8, 0).unwrap(), Guid::from_u128(11).to_wire());
    for (what, got, want) in [
        ("language 0 is the machine's: English", text(3, 0), Ok("Set")),
        ("English is always there", text(3, 0x0409), Ok("Set")),
        ("other English", text(3, 0x0809), Ok("Set")),
        ("exact", text(3, 0x040C), Ok("Jeu")),
        ("same primary language: the first", text(3, 0x080C), Ok("Jeu (Canada)")),
        ("not installed", text(3, 0x0407), Err(Status::ERROR_RESOURCE_LANG_NOT_FOUND)),
        ("help", text(4, 0x0409), Ok("Help of the set")),
        ("help that is not translated", text(4, 0x040C), Ok("Help of the set")),
        ("provider", text(7, 99), Ok("Scripted")),
        ("English name whatever the language", text(9, 0x040C), Ok("Set")),
    ] {
        assert_eq!(got, want.map(String::from), "{what}");
    }
    assert_eq!(texts(5, 0x0409), english);
    assert_eq!(texts(5, 0x040C), french);
    assert_eq!(texts(10, 0x040C), english);
    assert_eq!(texts(6, 0), owned([(7, ""), (3, "Help of 3"), (5, ""), (9, "")]));
    machine.set_language(Language(0x040C));
    assert_eq!((text(3, 0), texts(10, 0)), (Ok("Jeu".into()), english));

    for (what, guid, code, language, want) in [
        ("no such code", MULTI, 0, 0, Status::ERROR_INVALID_PARAMETER),
        ("no such code", MULTI, 11, 0, Status::ERROR_INVALID_PARAMETER),
        ("code before GUID", UNKNOWN, 11, 0, Status::ERROR_INVALID_PARAMETER),
        ("no such set", UNKNOWN, 1, 0, Status::ERROR_WMI_GUID_NOT_FOUND),
        ("no such counter", MULTI, 2, 4, Status::ERROR_WMI_ITEMID_NOT_FOUND),
        ("no help at all", SINGLE, 4, 0, Status::ERROR_NOT_FOUND),
        ("no help of any counter", SINGLE, 6, 0x0409, Status::ERROR_NOT_FOUND),
    ] {
        assert_eq!(ask(&guid, code, language), Err(want), "{what}");
    }
}

#[test]
fn instance_enumeration() {
    let (machine, provider) = machine();
    let bytes = |guid: &Guid| {
        let block = perflib::enumerate_instances(&machine, guid)?;
        let list = v2::instances::Instances::new(&block);
        Ok(list.map(|i| i.map(|i| (i.name().to_string(), i.id().0)).unwrap()).collect::<Vec<_>>())
    };
    assert_eq!(bytes(&MULTI), Ok(vec![("a".into(), 1), ("b".into(), 2)]));
    assert_eq!(bytes(&UNKNOWN), Err(Status::ERROR_WMI_GUID_NOT_FOUND));
    assert_eq!(
        bytes(&SINGLE),
        Err(Status::ERROR_WMI_INVALID_REGINFO),
        "two instances of a single-instance set"
    );
    provider.with(|s| s.rows.truncate(1));
    assert_eq!(bytes(&SINGLE), Ok(vec![("a".into(), 1)]));
    provider.with(|s| s.rows.clear());
    assert_eq!(bytes(&MULTI), Err(Status::ERROR_WMI_INSTANCE_NOT_FOUND));
}

#[test]
fn machine_names() {
    for local in
        [None, Some(""), Some("."), Some("LOCALHOST"), Some("ada"), Some("ADA"), Some(r"\\Ada"), Some(r"\\")]
    {
        assert_eq!(local_machine(local, "Ada"), Ok(()), "{local:?}");
    }
    let long = "web-frontend-production-7.example.org";
    for local in [long, "web-frontend-production-7", "WEB-FRONTEND-PR", r"\\WEB-FRONTEND-PR"] {
        assert_eq!(local_machine(Some(local), long), Ok(()), "{local}");
    }
    for other in ["web-frontend", "web-frontend-pro", "example.org", "WEB-FRONTEND-PR.example.org"] {
        assert!(local_machine(Some(other), long).is_err(), "{other}");
    }
    let error = local_machine(Some(r"\\bob"), "Ada").unwrap_err();
    assert_eq!(error.status(), Status::RPC_S_SERVER_UNAVAILABLE);
    assert_eq!(error.status().0, 1722);
    assert_eq!(error.to_string(), r#""\\bob" is another machine: remote machines are not supported"#);
}
