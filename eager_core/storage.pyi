from typing import final

@final
class Storage: ...
