"""Are a pod's volumes and their mounts legal?"""

from allaboard.api import names
from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    forbidden,
    not_found,
    not_supported,
    required,
)
from allaboard.api.meta import Json

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
# in the order in which Kubernetes looks at them; the second one found is the one refused
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret",
    "nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs",
    "quobyte", "downwardAPI", "fc", "configMap", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO",
    "csi", "ephemeral", "image",
)  # fmt: skip

_ORDER = {key: i for i, key in enumerate(_SOURCES)}


def validate_volumes(volumes: list[Json], path: str, out: list[FieldError]) -> set[str]:
    """Returns the names a container may mount."""
    known: set[str] = set()
    for i, volume in enumerate(volumes):
        at = f"{path}[{i}]"
        name = volume.get("name") or ""
        if not names.is_label(name) or len(name) > 63:
            if not name:
                out.append(required(f"{at}.name"))
            else:
                out += [bad_value(f"{at}.name", name, p) for p in names.label_problems(name)]
        elif name in known:
            out.append(duplicate(f"{at}.name", name))
        else:
            known.add(name)
        _source(volume, at, out)
    return known


def _source(volume: Json, at: str, out: list[FieldError]) -> None:
    given = [key for key in volume if key in _ORDER and volume[key] is not None]
    if not given:
        out.append(required(at, "must specify a volume type"))
        return
    if len(given) > 1:
        given.sort(key=_ORDER.__getitem__)
        for key in given[1:]:
            out.append(forbidden(f"{at}.{key}", "may not specify more than 1 volume type"))
    check = _CHECKS.get(given[0])
    if check:
        check(volume[given[0]], f"{at}.{given[0]}", out)


def _host_path(source: Json, path: str, out: list[FieldError]) -> None:
    location = source.get("path") or ""
    if not location:
        out.append(required(f"{path}.path"))
    elif ".." in location.split("/"):
        out.append(bad_value(f"{path}.path", location, "must not contain '..'"))
    kind = source.get("type")
    if kind and kind not in _HOST_PATH_TYPES:
        out.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))


def _config_map(source: Json, path: str, out: list[FieldError]) -> None:
    if not source.get("name"):
        out.append(required(f"{path}.name"))
    _mode(source, "defaultMode", path, out)
    _items(source, path, out)


def _secret(source: Json, path: str, out: list[FieldError]) -> None:
    if not source.get("secretName"):
        out.append(required(f"{path}.secretName"))
    _mode(source, "defaultMode", path, out)
    _items(source, path, out)


def _claim(source: Json, path: str, out: list[FieldError]) -> None:
    if not source.get("claimName"):
        out.append(required(f"{path}.claimName"))


def _nfs(source: Json, path: str, out: list[FieldError]) -> None:
    if not source.get("server"):
        out.append(required(f"{path}.server"))
    if not source.get("path"):
        out.append(required(f"{path}.path"))
    elif not source["path"].startswith("/"):
        out.append(bad_value(f"{path}.path", source["path"], "must be an absolute path"))


def _downward(source: Json, path: str, out: list[FieldError]) -> None:
    _mode(source, "defaultMode", path, out)
    for item in source.get("items") or ():
        _relative(item.get("path") or "", f"{path}.path", out)


def _projected(source: Json, path: str, out: list[FieldError]) -> None:
    _mode(source, "defaultMode", path, out)
    for i, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{i}]"
        found = 0
        for key in ("secret", "configMap"):
            part = projection.get(key)
            if part is not None:
                found += 1
                if not part.get("name"):
                    out.append(required(f"{at}.{key}.name"))
        for key in ("downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"):
            found += key in projection
        if not found:
            detail = "specified source must not be empty"
            out.append(required(at, detail))


def _empty_dir(source: Json, path: str, out: list[FieldError]) -> None:
    limit = source.get("sizeLimit")
    if isinstance(limit, str) and limit.startswith("-"):
        out.append(
            forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
        )


def _mode(source: Json, key: str, path: str, out: list[FieldError]) -> None:
    mode = source.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        out.append(bad_value(f"{path}.{key}", mode, _MODE))


def _items(source: Json, path: str, out: list[FieldError]) -> None:
    for i, item in enumerate(source.get("items") or ()):
        at = f"{path}.items[{i}]"
        if not item.get("key"):
            out.append(required(f"{at}.key"))
        _relative(item.get("path") or "", f"{at}.path", out)
        mode = item.get("mode")
        if mode is not None and not 0 <= mode <= 0o777:
            out.append(bad_value(f"{at}.mode", mode, _MODE))


def _relative(target: str, path: str, out: list[FieldError]) -> None:
    if not target:
        out.append(required(path))
    elif target.startswith("/"):
        out.append(bad_value(path, target, "must be a relative path"))
    elif ".." in target.split("/"):
        out.append(bad_value(path, target, "must not contain '..'"))
    elif target.startswith(".."):
        out.append(bad_value(path, target, "must not start with '..'"))


_CHECKS = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "configMap": _config_map,
    "secret": _secret,
    "persistentVolumeClaim": _claim,
    "nfs": _nfs,
    "downwardAPI": _downward,
    "projected": _projected,
}


def validate_mounts(mounts: list[Json], known: set[str], path: str, out: list[FieldError]) -> None:
    taken: set[str] = set()
    for i, mount in enumerate(mounts):
        at = f"{path}[{i}]"
        name = mount.get("name") or ""
        if not name:
            out.append(required(f"{at}.name"))
        if name not in known:
            out.append(not_found(f"{at}.name", name))
        target = mount.get("mountPath") or ""
        if not target:
            out.append(required(f"{at}.mountPath"))
        if target in taken:
            out.append(bad_value(f"{at}.mountPath", target, "must be unique"))
        taken.add(target)
        sub = mount.get("subPath")
        if sub:
            if mount.get("subPathExpr"):
                detail = "subPathExpr and subPath are mutually exclusive"
                out.append(bad_value(f"{at}.subPathExpr", mount["subPathExpr"], detail))
            _relative(sub, f"{at}.subPath", out)
        elif mount.get("subPathExpr"):
            _relative(mount["subPathExpr"], f"{at}.subPathExpr", out)
