//! Connects the grading probe with the rest of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::config::Called;
use super::measure::Grading;
use super::plan::Plan;
use super::prompts::Prompt;
use super::record::{GradingBasis, WhyAnew};
use super::references::{self, EditedReferences};
use super::regrade::StoredPairs;
use super::section::{GradingSection, answered, findings, own};
use super::stored::{Restated, StoredAnswers};
use super::{GradingKind, GradingSettings, base, ledger, page, planted};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{AnswersView, Chapter, in_one_line};
use kelvin_probe::{ChosenItems, Items, Kind, Planned, Probe, Rejudging};
use kelvin_record::Shard;
use kelvin_record::{
    AlignedSections, AnySection, ComparisonForm, Findings, GradedPair, Listing, Metric,
    RivalAnswers, RunView, SectionFingerprint, SectionForm, SectionKind, Surroundings, Viewpoint,
    WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::judge::model_names;
use kelvin_run::targets::AskedModel;
use kelvin_run::{Runner, Step, judging};

impl Kind for GradingKind {
    fn how_to_configure(&self) -> &'static str {
        "add a section `grading`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings: &GradingSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        Ok(Box::new(Plan::read(config, settings)?))
    }

    fn rejudging(
        &self,
        section: &dyn AnySection,
        config: &Config,
    ) -> anyhow::Result<Option<Box<dyn Rejudging>>> {
        let Some(settings) = config.settings::<GradingSettings>() else {
            let what = format!(
                "`{}` has no section `grading`, which names the judge",
                config.file.display()
            );
            return Err(Misuse::new(what).help(self.how_to_configure()).into());
        };
        let judge = settings.keys.judge.open(config).map_err(|what| {
            Misuse::new(format!(
                "{}: the judge of `grading`: {what}",
                config.file.display()
            ))
        })?;
        let pairs = StoredPairs::new(own(section).clone(), settings, judge)?;
        Ok(Some(Box::new(pairs)))
    }
}

impl SectionKind for GradingKind {
    fn name(&self) -> &'static str {
        "grading"
    }

    fn question(&self) -> &'static str {
        "How good are the answers, and are they as good as those of the base?"
    }

    fn metric_names(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("failure_rate", "calls without an answer"),
            ("flip_rate", "grades that turn with the order"),
            ("judge_score", "the mean grade"),
            ("unscored", "answers without a grade"),
            ("win_rate", "wins against the other answer"),
        ]
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("prompt", "prompts")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Prompts", "Candidate and baseline")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<GradingSection>()
    }

    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        base::figures_of_base(own(base), own(head), metrics);
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        _: Surroundings,
        reading: Viewpoint,
    ) -> Option<AlignedSections> {
        references::align(own(base), own(head), reading)
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        let meaning = "The references of the grading probe, where the change edits some.";
        Some(ComparisonForm::of::<EditedReferences>(meaning))
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        page::chapter(own(section), run)
    }

    fn answers(&self, section: &dyn AnySection, item: &str) -> Option<AnswersView> {
        page::answers(own(section), item)
    }

    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let samples = &own(section).items.get(item)?.samples;
        let mut failures = samples
            .iter()
            .filter_map(|sample| sample.candidate.failure.as_deref());
        Some(in_one_line(failures.next()?))
    }

    fn answered<'a>(
        &self,
        section: &'a dyn AnySection,
    ) -> Option<kelvin_record::SectionAnswers<'a>> {
        Some(answered(own(section)))
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<GradingSection>();
        findings(*section, Vec::new())
    }

    fn served(&self, section: &dyn AnySection, _place: &str) -> BTreeSet<String> {
        let names = base::served(&own(section).items).unwrap_or_default();
        names.into_iter().map(str::to_owned).collect()
    }

    fn graded_pairs(
        &self,
        section: &dyn AnySection,
        seconds: &BTreeMap<String, Vec<f64>>,
    ) -> Vec<GradedPair> {
        ledger::pairs(own(section), seconds)
    }

    fn rival_answers(&self, section: &dyn AnySection) -> Vec<RivalAnswers> {
        ledger::rivals(own(section))
    }
}

impl Items for Plan<'_> {
    fn ids(&self) -> Vec<&str> {
        self.prompts
            .iter()
            .map(|prompt| prompt.id.as_str())
            .collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.config.root.join(&self.settings.keys.prompts)]
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let fields = Fields::of("kelvin/prompts/v1");
        let add = |fields: Fields, prompt: &Prompt| {
            fields
                .field("id", &prompt.id)
                .field("prompt", prompt.digest().bytes())
        };
        // The order of the prompts is not a part of the fingerprint.
        let mut prompts: Vec<&Prompt> = self.prompts.iter().collect();
        prompts.sort_by_key(|prompt| &prompt.id);
        let items = prompts.into_iter().fold(fields, add).digest();
        let mut command = Fields::of("kelvin/graded-commands/v1");
        let pipelines = [
            Some(&self.settings.candidate),
            self.settings.baseline.as_ref(),
        ];
        for called in pipelines.into_iter().flatten() {
            let digest = self.settings.program(called).digest(self.config);
            command = command.field("program", digest.bytes());
        }
        SectionFingerprint {
            items: Some(items),
            command: Some(command.digest()),
        }
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let ids = self.prompts.iter().map(|prompt| prompt.id.as_str());
        let chosen = ChosenItems::of(ids, only, shard);
        self.places = chosen.ours;
        chosen.all.len()
    }

    fn list(&self, _with_digests: bool) -> Listing {
        let asked = self.places.len() * self.config.repeats.get();
        let mut listing = Listing::default();
        listing.invocations.insert("answer", asked);
        if self.settings.baseline.is_some() {
            listing.invocations.insert("answer of the baseline", asked);
        }
        listing.judge_trial = planted::cost(self);
        listing
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(Asked { plan: self })
    }
}

/// The planned prompts, each of which is sent unchanged.
struct Asked<'a> {
    plan: &'a Plan<'a>,
}

impl Planned for Asked<'_> {
    /// The steps: the baseline, if it is run, then the candidate, then the judge.
    fn steps(&self) -> Vec<Step<'_>> {
        let settings = self.plan.settings;
        let step = |folder: &str, called| Step {
            folder: Some(folder.to_owned()),
            program: settings.program(called),
            reader: &self.plan.reader,
        };
        let baseline = settings.baseline.as_ref();
        let baseline = baseline.map(|baseline| step("baseline", baseline));
        let candidate = step("candidate", &settings.candidate);
        let judges = judging::steps(&*self.plan.judge);
        baseline
            .into_iter()
            .chain([candidate])
            .chain(judges)
            .collect()
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        Box::new(GradingAtWork {
            plan: self.plan,
            grading: Grading::new(self.plan, runners),
            of_base: None,
        })
    }
}

/// A notice that a pipeline is graded by its own model or by one of its declared family; none if it is not, or if only
/// the pipeline knows its model. `of_base` is how the candidate was called for the base.
fn judged_by_itself(plan: &Plan<'_>, of_base: Option<&AskedModel>) -> Option<Notice> {
    let settings = plan.settings;
    let judges: Vec<AskedModel> = settings
        .keys
        .judge
        .models()
        .filter_map(|name| Some(AskedModel::of_endpoint(&plan.config.model(name)?.endpoint)))
        .collect();
    let asked = |called: &Called| called.address.asked_model();
    let sides = [
        ("candidate", asked(&settings.candidate)),
        ("baseline", settings.baseline.as_ref().and_then(asked)),
        ("base", of_base.cloned()),
    ];
    let own = |side: &AskedModel| {
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        let model = judges.iter().find(|judge| same(&judge.model, &side.model));
        let family = judges
            .iter()
            .find(|judge| same(&judge.family, &side.family));
        match (model, family) {
            (Some(judge), _) => judge
                .model
                .as_ref()
                .map(|name| format!("its own model `{name}`")),
            (None, Some(judge)) => {
                let name = judge.family.as_ref();
                name.map(|name| format!("a model of its own family `{name}`"))
            }
            (None, None) => None,
        }
    };
    let mut named = sides
        .iter()
        .filter_map(|(side, asked)| Some((*side, own(asked.as_ref()?)?)));
    let (side, whom) = named.next()?;
    let text = format!(
        "the {side} is graded by {whom}: models prefer answers of their own kind, so take a judge of another family, or \
         measure that preference by `kelvin calibrate` with answers of several families"
    );
    Some(Notice::new(Code::own("judged_by_itself"), text).foremost())
}

/// A notice about different parameters of two sides; none if they are equal, or if a side is a command, because only
/// the command itself knows its parameters.
fn asked_otherwise(
    one: Option<&AskedModel>,
    other: Option<&AskedModel>,
    name: &str,
) -> Option<Notice> {
    let differences = one?.differences(other?);
    if differences.is_empty() {
        return None;
    }
    let told: Vec<String> = differences
        .iter()
        .map(|(key, one, other)| match *key {
            "system prompt" => format!("the system prompt differs (`{one}`, `{other}`)"),
            key => format!("`{key}` is {one} for the candidate and {other} for {name}"),
        })
        .collect();
    let text = format!(
        "the two sides are asked in different ways, so a difference between their scores may come from that: {}",
        told.join("; ")
    );
    Some(Notice::new(Code::own("asked_otherwise"), text).foremost())
}

/// A notice that the state of the judge's server has changed.
fn restated(restated: &Restated) -> Notice {
    let Restated { then, now } = restated;
    let text = format!(
        "the server of the judge names another state of its system than for the base (`system_fingerprint` {} now, {} \
         then): the judge counts as the same, and was tried anew in this run by all planted answers and anchors",
        model_names(now),
        model_names(then)
    );
    Notice::new(Code::own("judge_restated"), text).foremost()
}

/// The probe while it runs.
struct GradingAtWork<'a> {
    plan: &'a Plan<'a>,
    grading: Grading<'a>,
    /// How the candidate was called for the base with which the run is compared.
    of_base: Option<AskedModel>,
}

impl Probe for GradingAtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.grading.run()
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.grading.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.grading.repeat(wanted)
    }

    fn against(&mut self, base: &dyn AnySection) -> anyhow::Result<()> {
        let base_section = own(base);
        let (old, new) = (&base_section.basis, self.plan.basis());
        let records = self.grading.records();
        // A base without any grade does not tell which models would have given them.
        let served = base::served(&base_section.items);
        let is_like = old.judge == new.judge
            && old.scoring == new.scoring
            && (served.is_none() || served == base::served(&records));
        self.of_base.clone_from(&old.asked);
        let states = base::fingerprints;
        self.grading.against(StoredAnswers {
            prompts: base_section.items.clone(),
            restated: Restated::between(states(&base_section.items), states(&records)),
            is_like,
            is_proved: is_like && old.is_proved(),
            doubt: match old.judge == new.judge {
                true => {
                    let why = old.doubt().or_else(|| base::lacks_grades(base_section));
                    why.filter(|_| is_like).map(WhyAnew::Doubted)
                }
                false if old.scoring == new.scoring => Some(WhyAnew::OtherJudge(old.judge.clone())),
                false => None,
            },
        })
    }

    fn findings(&self) -> Findings {
        let section = GradingSection {
            ending: self.grading.ending(),
            fingerprint: self.plan.fingerprint(),
            basis: GradingBasis {
                planted: self.grading.planted().cloned(),
                base_anew: self.grading.base_anew().cloned(),
                ..self.plan.basis()
            },
            items: self.grading.records().into(),
        };
        let mut notices = self.grading.notices();
        let plan = self.plan;
        let of_base = self.of_base.as_ref();
        notices.extend(judged_by_itself(plan, of_base));
        let baseline = plan.settings.baseline.as_ref();
        let candidate = plan.settings.candidate.address.asked_model();
        let beside = baseline.and_then(|baseline| baseline.address.asked_model());
        notices.extend(match baseline {
            Some(_) => asked_otherwise(candidate.as_ref(), beside.as_ref(), "the baseline"),
            None => asked_otherwise(candidate.as_ref(), of_base, "the base"),
        });
        notices.extend(self.grading.restated().map(restated));
        findings(section, notices)
    }

    fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        self.grading.seconds()
    }
}
