"""Skills: folders of instructions for models, in versions."""

from mockserver.kinds.objects import list_object_kinds, name_objects

SKILLS = name_objects("skill", *("skill", "update_skill", "delete_skill", "skill_content"), plural="skills")
VERSIONS = name_objects(
    "skill_version", *("skill_version", "delete_skill_version", "skill_version_content"), plural="skill_versions"
)
OPERATIONS = list_object_kinds(SKILLS, VERSIONS)
