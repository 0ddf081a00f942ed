"""What is possible with decisions and the policy that takes them."""

from __future__ import annotations

from tui.app.actions.action import Action

STRIP = (
    Action(
        "strip.continue", "1,c", "say('CONTINUE')", "Continue", "It should have been CONTINUE; or it is."
    ),
    Action("strip.revise", "2,r", "say('REVISE')", "Revise", "It should have been REVISE; or it is."),
    Action("strip.finish", "3,f", "say('FINISH')", "Finish", "It should have been FINISH; or it is."),
    Action("strip.unsay", "backspace", "unsay", "Take back", "Take back what you said of it.", shown=False),
)
DECISIONS = (
    Action("decisions.previous", "left_square_bracket", "run(-1)", "Older", "The run before this one."),
    Action("decisions.next", "right_square_bracket", "run(1)", "Newer", "The run after this one."),
    Action("decisions.teach", "t", "teach", "Teach", "The run asks you at each decision; or no more."),
    Action("decisions.reload", "u", "reload", "Read again", "Read the stored runs again.", shown=False),
)
POLICY = (
    Action(
        "policy.decider", "d", "decider", "Who decides", "Have the rules decide, or the language model."
    ),
    Action("policy.shadow", "s", "shadow", "Second opinion", "Whose opinion is recorded beside, unused."),
    Action("policy.reload", "u", "reload", "Read again", "Count again what has been gathered."),
)
