"""What every component must do, whatever its kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, NoReturn

from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.component_ref import NAME_RULE, ComponentRef, singular
from reid_core.plugins.index import installed
from reid_core.plugins.registries import registry_of
from reid_core.plugins.registry import Registry
from reid_core.testing.failure import ConformanceError
from reid_core.testing.import_check import ImportReport, import_report, module_of

#: An import that takes longer, beyond what every run loads anyway, is reported.
SLOW_IMPORT_SECONDS = 1.0

_NOBODYS_PARAMETER = "no_such_parameter_of_anyone"


class SlowImportWarning(UserWarning):
    """Importing a component takes long; every run that names it waits for that."""


class Conformance:
    """The checks of every component; each kind has a class derived from this one.

    A subclass says which component is meant, and pytest runs the checks that it inherits::

        class TestMyLoss(LossConformance):
            name = "my_loss"
            dist = "reid-plugin-my-loss"
            parameters = {"margin": 0.3}

    A check that does not apply is overridden by a method that says why.

    Attributes:
        kind: The component kind; each base class sets it.
        name: The component's name, as a config spells it.
        dist: The distribution that must provide it.
        parameters: What a config would set; needed for parameters without a default.
    """

    kind: ClassVar[str] = ""
    name: ClassVar[str] = ""
    dist: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, object]] = {}

    # What the checks use; each can be overridden.

    def context(self) -> dict[str, object]:
        """Return what the trainer offers to this kind, at the sizes of the checks."""
        return {}

    def build(self, **context: object) -> object:
        """Build the component as a config would.

        Args:
            **context: Replaces entries of :meth:`context`.

        Raises:
            ConformanceError: It cannot be built.
        """
        __tracebackhide__ = True
        return self.build_with(self.parameters, **context)

    def build_with(self, parameters: Mapping[str, object], **context: object) -> object:
        """Build the component with other parameters than those of the class.

        Args:
            parameters: What a config would set.
            **context: Replaces entries of :meth:`context`.

        Raises:
            ConformanceError: It cannot be built.
        """
        __tracebackhide__ = True
        call = {**parameters, "name": self.ref().qualified}
        try:
            return self._registry().build(call, **{**self.context(), **context})
        except ConfigError as error:
            raise ConformanceError(
                f"{error}\n  it was built with parameters = {dict(parameters)!r}; set "
                f"`parameters` in {type(self).__name__} to what a config would give"
            ) from error
        except PluginError as error:
            raise ConformanceError(str(error)) from error
        except Exception as error:
            raise ConformanceError(
                f"{self._what()}: it raised {type(error).__name__} when it was built with "
                f"parameters = {dict(parameters)!r}: {error}"
            ) from error

    def ref(self) -> ComponentRef:
        """Return the record of the component, from the metadata of what is installed.

        Raises:
            ConformanceError: The class does not say which one, or it is not installed.
        """
        __tracebackhide__ = True
        me = type(self).__name__
        for attribute in ("name", "dist"):
            if not getattr(self, attribute):
                raise ConformanceError(
                    f"{me}.{attribute} is not set; write {attribute} = "
                    + ('"my_loss"' if attribute == "name" else '"reid-plugin-my-loss"')
                    + ": the component must come from its installed entry point"
                )
        try:
            return installed().find(self.kind, f"{self.dist}/{self.name}")
        except PluginError as error:
            raise ConformanceError(
                f"{error}\n  expected the entry point {self.name!r} in the group "
                f"reid_core.{self.kind} of {self.dist}; entry points are read when the package is "
                "installed: after a change of pyproject.toml, pip install -e . again"
            ) from error

    def factory(self) -> Callable[..., object]:
        """Return the class or function behind the entry point.

        Raises:
            ConformanceError: It cannot be imported.
        """
        __tracebackhide__ = True
        try:
            return self._registry().get(self.ref().qualified)
        except PluginError as error:
            raise ConformanceError(str(error)) from error

    def require(self, is_met: bool, message: str) -> None:
        """Fail with a message that begins with the component's name, unless ``is_met``.

        Args:
            is_met: What must be true.
            message: What was expected, what was got, and how to mend it.

        Raises:
            ConformanceError: It is not true.
        """
        __tracebackhide__ = True
        if not is_met:
            self.fail(message)

    def fail(self, message: str) -> NoReturn:
        """Fail with a message that begins with the component's name.

        Args:
            message: What was expected, what was got, and how to mend it.

        Raises:
            ConformanceError: Always.
        """
        __tracebackhide__ = True
        raise ConformanceError(f"{self._what()}: {message}")

    @contextmanager
    def attempt(self, what: str, advice: str) -> Iterator[None]:
        """Turn what the component raises inside into a failure that says when.

        Args:
            what: What is being tried, after "raised an error".
            advice: What is expected.

        Raises:
            ConformanceError: Something was raised.
        """
        try:
            yield
        except ConformanceError as error:
            raise ConformanceError(f"{error}\n  this was {what}; {advice}") from error.__cause__
        except Exception as error:
            message = f"it raised {type(error).__name__} {what}: {error}\n  {advice}"
            raise ConformanceError(f"{self._what()}: {message}") from error

    def _what(self) -> str:
        return f"{singular(self.kind)} {self.name!r} of {self.dist}"

    def _registry(self) -> Registry:
        try:
            return registry_of(self.kind)
        except KeyError as error:
            raise ConformanceError(
                f"{type(self).__name__}.kind is {self.kind!r}; derive it from the class of a kind, "
                "such as LossConformance"
            ) from error

    def _import_report(self) -> tuple[str, ImportReport]:
        """Return the module that the entry point names, and what importing it did."""
        module, report = module_of(self.ref()), import_report(self.ref())
        self.require(
            not report.error,
            f"importing {module} in a fresh process raised {report.error}; it must be importable "
            "without the tests",
        )
        return module, report

    # Checks.

    def test_comes_from_its_installed_entry_point(self) -> None:
        """The name is found in the metadata of the distribution, and can be loaded."""
        self.factory()

    def test_name_follows_the_rule(self) -> None:
        """Names are spelled one way: small letters, digits, underscores."""
        self.require(
            NAME_RULE.fullmatch(self.name) is not None,
            "the name must begin with a small letter and hold only small letters, digits and "
            "underscores ([a-z][a-z0-9_]*); rename the entry point",
        )

    def test_unknown_parameter_is_refused(self) -> None:
        """A misspelt parameter of a config is an error, not ignored."""
        given = {**self.parameters, _NOBODYS_PARAMETER: 1}
        call = self._registry().bind(self.ref().qualified, given, self.context())
        self.require(
            any(problem.parameter == _NOBODYS_PARAMETER for problem in call.problems),
            "takes any keyword (**kwargs), so a misspelt parameter of a config would be ignored; "
            "name every parameter in the signature",
        )

    def test_import_prints_nothing(self) -> None:
        """Whoever imports the module sees nothing; a slow import is reported as a warning."""
        module, report = self._import_report()
        self.require(
            not report.output.strip(),
            f"importing {module} printed {report.output.strip()[:300]!r}; expected nothing: log "
            "with logging.getLogger(__name__), from inside functions",
        )
        if report.seconds > SLOW_IMPORT_SECONDS:
            warnings.warn(
                f"importing {module} takes {report.seconds:.1f} s of processor time beyond torch; "
                "import heavy packages where they are used",
                SlowImportWarning,
                stacklevel=2,
            )

    def test_import_changes_no_global_state(self) -> None:
        """Importing leaves random states, dtypes, threads, warnings and so on as they were."""
        module, report = self._import_report()
        changes = "; ".join(
            f"{name} from {before[:120]} to {after[:120]}"
            for name, (before, after) in report.changes.items()
        )
        self.require(
            not report.changes,
            f"importing {module} changed {changes}; an import must leave the process as it was: "
            "move that into the component, and only as far as a config asks for it",
        )
