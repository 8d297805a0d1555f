"""A run whose budget is used up can still be cancelled."""

from stories.project import Project

WORK = """
    adapters:
      fake:
        command: [bash, -c, 'echo "{\\"result\\": \\"hi\\", \\"usd\\": 1.0}"']
        reply: 'json:result'
        cost: 'json:usd'
    budget: {usd: 1}
    task:
      - ask: {prompt: hi, adapter: fake}
      - more: {run: echo more >> ledger.txt}
    finally:
      - tidy: {run: echo tidy >> ledger.txt}
"""


def test_a_cancelled_run_ends_although_its_budget_is_used_up(project: Project):
    project.workflow(WORK)
    assert project.onward("run", "w.yaml").code == 3
    project.onward("cancel")
    assert project.status()["status"] == "cancelled"
    assert project.ledger == ["tidy"]
