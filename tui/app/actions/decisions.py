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
    Action("policy.use", "enter,p", "use", "Promote", "Make the policy under the cursor the active one."),
    Action(
        "policy.rollback", "b", "rollback", "Roll back", "Go back to the policy that was active before."
    ),
    Action("policy.train", "t", "train", "Train", "To the training; there: begin what is chosen."),
    Action("policy.stop", "escape,x", "stop", "Stop", "Stop the training; the same one can go on later."),
    Action("policy.decider", "d", "decider", "Decider", "The rules, the language model or the policy."),
    Action("policy.shadow", "s", "shadow", "2nd opinion", "Whose opinion is recorded beside, unused."),
    Action("policy.policies", "1", "tab('policies')", "Policies", "The policies there are.", shown=False),
    Action("policy.training", "2", "tab('training')", "Training", "Train a policy, watch it.", shown=False),
    Action(
        "policy.gathered", "3", "tab('gathered')", "Gathered", "What there is of decisions.", shown=False
    ),
    Action("policy.reload", "u", "reload", "Read again", "Read everything again.", shown=False),
)
