"""`allaboard manifests`: print what to apply to a cluster."""

import click


@click.group()
def manifests() -> None:
    """Print manifests, ready for `kubectl apply -f -`."""


@manifests.command()
@click.option(
    "--conversion",
    type=click.Choice(("none", "webhook")),
    default="none",
    show_default=True,
    help="How a server converts between versions; a real API server needs the webhook.",
)
@click.option(
    "--namespace",
    default="allaboard-system",
    show_default=True,
    help="Where the webhook's Service is.",
)
def crds(conversion: str, namespace: str) -> None:
    """Print the CustomResourceDefinitions, generated from the types."""
    from allaboard.api.kueue.crd.definitions import ConversionWebhook, definitions
    from allaboard.api.yaml_text import write_documents

    webhook = ConversionWebhook(namespace=namespace) if conversion == "webhook" else None
    click.echo(write_documents(definitions(webhook)), nl=False)
