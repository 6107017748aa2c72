package prove

func registerPlanted() {}
