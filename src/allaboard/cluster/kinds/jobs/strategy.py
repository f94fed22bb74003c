"""The life of Jobs and CronJobs as rules."""

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.cron import schedule_problem
from allaboard.cluster.kinds.jobs.spec import (
    NOT_NEGATIVE,
    copy_labels,
    default_job,
    default_job_template,
    generate_selector,
    separate_labels,
    validate_job,
    validate_job_template,
)
from allaboard.cluster.kinds.jobs.status import validate_job_status
from allaboard.cluster.kinds.jobs.update import validate_job_update
from allaboard.cluster.kinds.metadata import validate_metadata, validate_metadata_update
from allaboard.cluster.kinds.pods.warnings import spec_warnings
from allaboard.cluster.kinds.strategy import KindStrategy


class JobStrategy(KindStrategy):
    has_generation = True

    def default_spec(self, obj: Json) -> None:
        default_job(obj)

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        generate_selector(obj)
        copy_labels(obj)
        separate_labels(obj)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        separate_labels(obj)

    def validate_create(self, obj: Json) -> list[FieldError]:
        meta = obj["metadata"]
        if meta.get("labels") == obj["spec"]["template"]["metadata"].get("labels"):
            meta = {**meta, "labels": None}  # the template's own errors name them
        return validate_metadata(meta, True, self.name_problems) + validate_job(obj)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        changed = validate_metadata_update(obj["metadata"], old["metadata"])
        if subresource == "status":
            if obj.get("status") == old.get("status"):
                return changed
            return changed + validate_job_status(obj, old)
        if not changed and (obj["spec"] is old["spec"] or obj["spec"] == old["spec"]):
            return []
        return changed + validate_job(obj) + changed + validate_job_update(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        if old is not None and (obj["spec"] is old["spec"] or obj["spec"] == old["spec"]):
            return []
        found = []
        name = obj["metadata"].get("name") or ""
        if old is None and (not names.is_label(name) or len(name) > 63):
            problems = [names.too_long_message(63)] if len(name) > 63 else []
            problems += ["must not contain dots"] if "." in name else []
            found.append(
                "metadata.name: this is used in Pod names and hostnames, which can result in "
                "surprising behavior; a DNS label is recommended: "
                f"[{' '.join(problems)}]"
            )
        return found + spec_warnings(obj["spec"]["template"]["spec"], "spec.template.spec")


class CronJobStrategy(KindStrategy):
    has_generation = True

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        default_job_template(template.setdefault("spec", {}))

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj["spec"]
        name = obj["metadata"].get("name") or ""
        if len(name) > 52:
            out.append(bad_value("metadata.name", name, names.too_long_message(52)))
        schedule = spec.get("schedule") or ""
        if not schedule:
            out.append(required("spec.schedule"))
        elif problem := schedule_problem(schedule):
            out.append(bad_value("spec.schedule", schedule, problem))
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and deadline < 0:
            out.append(bad_value("spec.startingDeadlineSeconds", deadline, NOT_NEGATIVE))
        policy = spec.get("concurrencyPolicy")
        if policy not in ("Allow", "Forbid", "Replace"):
            allowed = ("Allow", "Forbid", "Replace")
            out.append(not_supported("spec.concurrencyPolicy", policy, allowed))
        job = spec["jobTemplate"]["spec"]
        if job.get("manualSelector"):
            path = "spec.jobTemplate.spec.manualSelector"
            out.append(not_supported(path, True, ("nil", "false")))
        validate_job_template(job, "spec.jobTemplate.spec", out)
        for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
            limit = spec.get(key)
            if limit is not None and limit < 0:
                out.append(bad_value(f"spec.{key}", limit, NOT_NEGATIVE))
        return out
